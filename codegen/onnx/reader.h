// SPDX-License-Identifier: MIT
// Reads an ONNX model into a graph.
//
// Every operator decomposes into the graph's few (see op_table.h). Shapes that the model computes
// are computed here, since all input shapes are known; an extent that depends on data becomes a
// bound and a count (extents.h). Branches, loops and the model's own functions become part of the
// one graph (scope.h). Never read: training, sequences, maps, options, strings, images.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/onnx/problem.h"
#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::onnx {

// The model's metadata property that names parts of its outputs: a JSON list of
//   {"name": "lead", "offset": 0, "shape": [2, 16], "unit": "m", "output": "out"}
// where offset counts elements, unit is optional, and output is too if the model has just one.
inline constexpr std::string_view kOutputSlicesKey = "camshaft.output_slices";

// An output whose extents depend on data is padded to the most that they can be
// (ir::GraphOutput::counted_axes lists those axes), and the graph gets an output of the same name
// with this suffix: i64[n], what the n extents are in a run.
inline constexpr std::string_view kCountSuffix = ".count";
// Where bounds of the caller's (ReaderOptions::bounds) cut what a run needs, this output, bool[],
// says that it did: the other outputs are then not what the model means.
inline constexpr std::string_view kBoundExceeded = "camshaft.bound_exceeded";

struct ReaderOptions {
  // By a model input's name, its shape; by a free dimension's name ("batch"), its one extent.
  std::map<std::string, ir::Shape> shapes = {};
  // Inputs that get their value now, by name: what decides a shape or a branch must be known.
  std::map<std::string, std::shared_ptr<const ir::Literal>> frozen = {};
  // The same as numbers that people write, "16000" or "1,2,3", row-major: they become the dtype and
  // shape that the model declares for the input.
  std::map<std::string, std::string> frozen_text = {};
  // The most that an integer whose value depends on data can be, where that decides how large a
  // result is or how often a loop runs: by the integer's name, or the node's that it belongs to.
  std::map<std::string, int64_t> bounds = {};
  // Whether `shapes` are those of a plan's inputs, and not of the command line: for sentences.
  bool has_shapes_of_plan = false;
};

// What a graph was made of, besides the options: what a description of it must cover.
struct ReaderSources {
  std::vector<std::string> files;  // the model and the files beside it that it refers to
  std::map<std::string, std::shared_ptr<const ir::Literal>> frozen;  // inputs and their values
};

// Adds what the command line's --shape says: "x=1x3x224x224" or "batch=1". kInvalidArgument if it
// is malformed or contradicts an earlier one.
base::Status add_shape_option(std::string_view text, ReaderOptions* options);
// The same for --freeze, "sr=16000", and --bound, "boxes=300".
base::Status add_freeze_option(std::string_view text, ReaderOptions* options);
base::Status add_bound_option(std::string_view text, ReaderOptions* options);

// The model as a graph, with its inputs and outputs named as in the file. If it can't be read, all
// reasons are appended to `problems` (which may be null) in the order of the file, the first is in
// the log ring, and the code is kUnsupported if any operator or feature is not supported, else
// kCorrupt if the file is damaged or not ONNX, else kInvalidArgument (shapes are missing or don't
// fit); kNotFound and kIo if it can't be opened. `sources` may be null.
// Allocates memory for the data that the files hold, and not on the word of a header.
base::Result<ir::Graph> read_onnx(const std::string& path, const ReaderOptions& options,
                                  std::vector<Problem>* problems, ReaderSources* sources = nullptr);

// The same for a model in memory. `folder` holds its external data; "" if it may have none.
base::Result<ir::Graph> read_onnx_bytes(base::Bytes model, const std::string& folder,
                                        const ReaderOptions& options,
                                        std::vector<Problem>* problems,
                                        ReaderSources* sources = nullptr);

}  // namespace camshaft::onnx
