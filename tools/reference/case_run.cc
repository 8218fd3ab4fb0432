// SPDX-License-Identifier: MIT
#include "tools/reference/case_run.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/onnx/reader.h"
#include "runtime/base/log_ring.h"
#include "tools/io/tensor.h"
#include "tools/reference/joined_graph.h"

namespace camshaft::reference {
namespace {

namespace fs = std::filesystem;

// A data set of a case, read.
struct DataSet {
  fs::path folder;
  std::vector<NamedTensor> tensors;
  ir::Graph graph;
};

base::Result<DataSet> read_data_set(const fs::path& model, const fs::path& folder,
                                    std::vector<onnx::Problem>* problems) {
  CAMSHAFT_TRY_ASSIGN(std::vector<NamedTensor> tensors, read_inputs(folder));
  onnx::ReaderOptions options;
  for (const NamedTensor& tensor : tensors) {
    options.shapes[tensor.name] = tensor.literal->type.shape;
  }
  CAMSHAFT_TRY_ASSIGN(ir::Graph graph, onnx::read_onnx(model.string(), options, problems));
  CAMSHAFT_TRY(ir::verify_graph(graph));
  return DataSet{folder, std::move(tensors), std::move(graph)};
}

// The shape of output i in this run: what its count output says of extents that depend on data.
ir::Shape counted_shape(const ir::Graph& graph, std::span<const ir::Literal> outputs, size_t i) {
  ir::Shape shape = outputs[i].type.shape;
  const std::vector<int>& axes = graph.outputs[i].counted_axes;
  const std::string count_name = graph.outputs[i].name + std::string(onnx::kCountSuffix);
  for (size_t j = 0; j < outputs.size() && !axes.empty(); ++j) {
    if (graph.outputs[j].name != count_name) continue;
    for (size_t k = 0; k < axes.size(); ++k) {
      shape[static_cast<size_t>(axes[k])] = outputs[j].data<int64_t>()[k];
    }
  }
  return shape;
}

base::Status write_outputs(const DataSet& set, const std::string& name,
                           std::span<const ir::Literal> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::TensorType& type = outputs[i].type;
    io::Tensor counted = io::leading_part({type.dtype, type.shape, outputs[i].bytes},
                                          counted_shape(set.graph, outputs, i));
    const ir::Literal literal{{type.dtype, std::move(counted.shape)}, std::move(counted.bytes)};
    CAMSHAFT_TRY(write_output(set.folder, name, i, set.graph.outputs[i].name, literal));
  }
  return base::ok();
}

base::Status run_data_set(const fs::path& model, const fs::path& folder,
                          Implementation& implementation, std::vector<onnx::Problem>* problems) {
  CAMSHAFT_TRY_ASSIGN(const DataSet set, read_data_set(model, folder, problems));
  CAMSHAFT_TRY_ASSIGN(const std::vector<ir::Literal> outputs,
                      implementation.run(set.graph, set.tensors));
  return write_outputs(set, implementation.name(), outputs);
}

// What is wrong with a case, in one line.
std::string sentence_of(const std::vector<onnx::Problem>& problems, uint64_t log_sequence) {
  std::string text;
  for (const onnx::Problem& problem : problems) {
    text += (text.empty() ? "" : " | ") + onnx::to_string(problem);
  }
  if (!text.empty()) return text;
  for (const base::LogLine& line : base::log_lines_after(log_sequence)) text = line.text;
  return text;
}

std::string result_text(base::Status status, const std::vector<onnx::Problem>& problems,
                        uint64_t log_sequence) {
  return std::string(base::code_name(status.code())) + "\t" +
         (status.is_ok() ? "" : sentence_of(problems, log_sequence));
}

// Reads all data sets of a case. The text is empty, or says why they can't be read.
std::string read_case(const fs::path& folder, std::vector<DataSet>& sets) {
  const uint64_t sequence = base::log_sequence();
  std::vector<onnx::Problem> problems;
  std::vector<DataSet> read;
  for (const fs::path& data_set : data_sets_of(folder)) {
    base::Result<DataSet> set = read_data_set(folder / "model.onnx", data_set, &problems);
    if (!set.has_value()) return result_text(set.error(), problems, sequence);
    read.push_back(std::move(*set));
  }
  std::move(read.begin(), read.end(), std::back_inserter(sets));
  return "";
}

base::Status run_together(std::span<const DataSet> sets, Implementation& implementation) {
  std::vector<GraphPart> parts;
  for (const DataSet& set : sets) parts.push_back({&set.graph, &set.tensors});
  const JoinedGraph joined = join_graphs(parts);
  CAMSHAFT_TRY_ASSIGN(const std::vector<ir::Literal> outputs,
                      implementation.run(joined.graph, joined.tensors));
  size_t first = 0;
  for (const DataSet& set : sets) {
    const size_t count = set.graph.outputs.size();
    CAMSHAFT_TRY(
        write_outputs(set, implementation.name(), std::span(outputs).subspan(first, count)));
    first += count;
  }
  return base::ok();
}

}  // namespace

std::string run_case(const fs::path& folder, Implementation& implementation) {
  const uint64_t sequence = base::log_sequence();
  std::vector<onnx::Problem> problems;
  base::Status status;
  for (const fs::path& data_set : data_sets_of(folder)) {
    status = run_data_set(folder / "model.onnx", data_set, implementation, &problems);
    if (!status.is_ok()) break;
  }
  return result_text(status, problems, sequence);
}

std::vector<std::string> run_cases_together(std::span<const fs::path> folders,
                                            Implementation& implementation) {
  std::vector<std::string> texts;
  std::vector<DataSet> sets;
  for (const fs::path& folder : folders) texts.push_back(read_case(folder, sets));
  if (sets.empty() || !run_together(sets, implementation).is_ok()) return texts;
  for (std::string& text : texts) {
    if (text.empty()) text = result_text(base::ok(), {}, 0);
  }
  return texts;
}

}  // namespace camshaft::reference
