// SPDX-License-Identifier: MIT
#include "codegen/onnx/reader.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "codegen/onnx/external_files.h"
#include "codegen/onnx/format.h"
#include "codegen/onnx/graph_reader.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/op_table.h"
#include "codegen/onnx/output_slices.h"
#include "runtime/base/file.h"
#include "runtime/base/log_ring.h"

namespace camshaft::onnx {
namespace {

constexpr int64_t kOldestIrVersion = 3;
constexpr int64_t kNewestIrVersion = 14;

Problem of_file(base::Code code, std::string sentence) {
  return {code, "", "", std::move(sentence)};
}

bool parse(base::Bytes bytes, ::onnx::ModelProto* model, std::vector<Problem>* problems) {
  if (bytes.size() > INT_MAX) {
    problems->push_back(of_file(base::Code::kUnsupported,
                                "the model is larger than 2 GiB: save it with external data"));
    return false;
  }
  if (!model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      !model->has_ir_version() || !model->has_graph()) {
    problems->push_back(of_file(base::Code::kCorrupt,
                                "this is not an ONNX model, or it is cut short; only ONNX "
                                "models are read"));
    return false;
  }
  return true;
}

// The opset of the default domain; 0 with a problem if it can't be read.
int check_versions(const ::onnx::ModelProto& model, std::vector<Problem>* problems) {
  // A model that has none of its operators need not import the default domain.
  int64_t opset = model.opset_import().empty() ? 0 : kNewestOpset;
  for (const ::onnx::OperatorSetIdProto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
  }
  if (model.ir_version() < kOldestIrVersion) {
    problems->push_back(of_file(
        base::Code::kUnsupported,
        format_text("IR version %lld is not supported: convert the model to version %lld or later",
                    static_cast<long long>(model.ir_version()),
                    static_cast<long long>(kOldestIrVersion))));
  }
  if (opset < kOldestOpset) {
    problems->push_back(
        of_file(base::Code::kCorrupt, format_text("opset %lld of the default domain does not exist",
                                                  static_cast<long long>(opset))));
    return 0;
  }
  if (opset > kNewestOpset) {
    base::log_line(
        "opset %lld is newer than %d, the newest that is known: operators are read as "
        "of that one",
        static_cast<long long>(opset), kNewestOpset);
  }
  if (model.ir_version() > kNewestIrVersion) {
    base::log_line("IR version %lld is newer than %lld, the newest that is known",
                   static_cast<long long>(model.ir_version()),
                   static_cast<long long>(kNewestIrVersion));
  }
  return static_cast<int>(std::min<int64_t>(opset, kNewestOpset));
}

ir::Graph read_model(base::Bytes bytes, const ReaderOptions& options, ExternalFiles* files,
                     std::vector<Problem>* problems, ReaderSources* sources) {
  ::onnx::ModelProto model;
  if (!parse(bytes, &model, problems)) return {};
  const int opset = check_versions(model, problems);
  if (opset == 0) return {};
  GraphReader reader(opset, options, files, problems);
  reader.read(&model);
  for (const ::onnx::StringStringEntryProto& entry : model.metadata_props()) {
    // Where outputs could not be read, slices of them would only add to the list.
    if (entry.key() == kOutputSlicesKey && problems->empty()) {
      read_output_slices(entry.value(), reader.graph(), problems);
    }
  }
  if (sources != nullptr) sources->frozen = reader.frozen();
  return reader.take_graph();
}

bool has_code(const std::vector<Problem>& problems, base::Code code) {
  return std::any_of(problems.begin(), problems.end(),
                     [&](const Problem& problem) { return problem.code == code; });
}

// The code that stands for all problems, with the first in the log ring.
base::Status summary(const std::string& name, const std::vector<Problem>& problems) {
  base::Code code = base::Code::kInvalidArgument;
  if (has_code(problems, base::Code::kCorrupt)) code = base::Code::kCorrupt;
  if (has_code(problems, base::Code::kUnsupported)) code = base::Code::kUnsupported;
  const std::string more =
      problems.size() == 1 ? "" : format_text(" (and %zu more problems)", problems.size() - 1);
  return base::fail(code, "onnx.read", "%s%s%.400s%s", name.c_str(), name.empty() ? "" : ": ",
                    to_string(problems.front()).c_str(), more.c_str());
}

base::Result<ir::Graph> read_named(base::Bytes bytes, const std::string& name,
                                   const std::string& folder, const ReaderOptions& options,
                                   std::vector<Problem>* problems, ReaderSources* sources) {
  ExternalFiles files(folder);
  std::vector<Problem> found;
  ir::Graph graph = read_model(bytes, options, &files, &found, sources);
  if (sources != nullptr) {
    sources->files.insert(sources->files.end(), files.paths().begin(), files.paths().end());
  }
  if (found.empty()) return graph;
  const base::Status status = summary(name, found);
  for (Problem& problem : found) {  // what has no node has at least a file
    if (problem.node.empty() && !name.empty()) problem.sentence = name + ": " + problem.sentence;
  }
  if (problems != nullptr) {
    problems->insert(problems->end(), std::make_move_iterator(found.begin()),
                     std::make_move_iterator(found.end()));
  }
  return status;
}

}  // namespace

base::Result<ir::Graph> read_onnx_bytes(base::Bytes model, const std::string& folder,
                                        const ReaderOptions& options,
                                        std::vector<Problem>* problems, ReaderSources* sources) {
  return read_named(model, "", folder, options, problems, sources);
}

base::Result<ir::Graph> read_onnx(const std::string& path, const ReaderOptions& options,
                                  std::vector<Problem>* problems, ReaderSources* sources) {
  CAMSHAFT_TRY_ASSIGN(const base::MappedFile file,
                      base::MappedFile::open(path, {.populate = true}));
  if (sources != nullptr) sources->files.push_back(path);
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  return read_named(file.bytes(), path, folder, options, problems, sources);
}

}  // namespace camshaft::onnx
