// SPDX-License-Identifier: MIT
// If, Loop and Scan. A loop is unrolled: the schedule is fixed, and what each iteration computes
// may have shapes of its own. Where the number of iterations depends on data, all that the bound
// allows are computed, and the results of those that should not have run are not taken.
#include <algorithm>
#include <cinttypes>
#include <utility>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/op_table.h"
#include "runtime/base/log_ring.h"

namespace camshaft::onnx {
namespace {

constexpr int64_t kMostIterations = Builder::kMostIterations;

std::optional<bool> known_bool(Value condition) {
  const std::optional<std::vector<double>> values = condition.known_doubles();
  if (!values || values->size() != 1) return std::nullopt;
  return values->front() != 0;
}

// x with its axes made as long as `shape`'s, where they are shorter; the true extents are counts.
Value stretched(Value x, const Shape& shape) {
  ir::PadAttrs pads{Shape(shape.size(), 0), Shape(shape.size(), 0), ir::PadMode::kConstant, 0};
  std::vector<Value> extents;
  for (int axis = 0; axis < x.rank(); ++axis) {
    extents.push_back(extent_of(x, axis));
    pads.after[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)] - x.dim(axis);
  }
  return pad(without_counts(x), std::move(pads));
}

// One of two values. Where their extents differ or depend on data, so do the result's.
Value choose(NodeReader& node, Value condition, Value then, Value otherwise) {
  if (!then || !otherwise) return {};
  if (then.dtype() != otherwise.dtype() || then.rank() != otherwise.rank()) {
    return node.unsupported("its results may be %s or %s: only extents may depend on data",
                            to_string(then.type()).c_str(), to_string(otherwise.type()).c_str());
  }
  Shape shape = then.shape();
  for (size_t i = 0; i < shape.size(); ++i) shape[i] = std::max(shape[i], otherwise.shape()[i]);
  Value result = select(condition, stretched(then, shape), stretched(otherwise, shape));
  for (int axis = 0; axis < then.rank() && result; ++axis) {
    const bool is_same = then.dim(axis) == otherwise.dim(axis) && !has_count(then, axis) &&
                         !has_count(otherwise, axis);
    if (is_same) continue;
    result = with_count(result, axis,
                        select(condition, extent_of(then, axis), extent_of(otherwise, axis)));
  }
  return result;
}

Value read_if(NodeReader& node) {
  const Value condition = node.input(0);
  const ::onnx::GraphProto* then_graph = node.required_graph("then_branch");
  const ::onnx::GraphProto* else_graph = node.required_graph("else_branch");
  if (then_graph == nullptr || else_graph == nullptr) return {};
  if (condition.elements() != 1) return node.invalid("the condition must be one bool");
  if (const std::optional<bool> known = known_bool(condition)) {
    const auto taken = node.read_subgraph(*known ? *then_graph : *else_graph, {});
    if (!taken) return {};
    for (size_t i = 0; i < taken->size(); ++i) node.set_output(static_cast<int>(i), (*taken)[i]);
    return node.output(0);
  }
  const Value scalar = reshape(condition, {});
  const auto then = node.read_subgraph(*then_graph, {}, scalar);
  const auto otherwise = node.read_subgraph(*else_graph, {}, logical_not(scalar));
  if (!then || !otherwise) return {};
  if (then->size() != otherwise->size()) return node.corrupt("its branches differ in outputs");
  base::log_line(
      "node '%s' (If): the condition depends on data, so every run computes both branches: %d and "
      "%d nodes",
      node.label().c_str(), then_graph->node_size(), else_graph->node_size());
  for (size_t i = 0; i < then->size(); ++i) {
    node.set_output(static_cast<int>(i), choose(node, scalar, (*then)[i], (*otherwise)[i]));
  }
  return node.output(0);
}

// The state of a loop that is being unrolled.
struct Unrolled {
  std::vector<Value> carried;
  std::vector<std::vector<Value>> scanned;  // by scan output, one an iteration
  Value alive;                              // does the next iteration run? bool[]
  Value count;                              // how many ran, i64[]; absent: all that were unrolled
};

// Takes the results of one iteration: all of them if it runs for certain.
bool take_iteration(NodeReader& node, const std::vector<Value>& results, Unrolled* loop) {
  const bool is_certain = known_bool(loop->alive).value_or(false);
  const size_t carried = loop->carried.size();
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) return false;
    if (i >= carried) {
      loop->scanned[i - carried].push_back(results[i]);
    } else {
      Value& state = loop->carried[i];
      state = is_certain ? results[i] : choose(node, loop->alive, results[i], state);
      if (!state) return false;
    }
  }
  const Value one = cast(loop->alive, DType::kInt64);
  loop->count = loop->count ? loop->count + one : one;
  return true;
}

// The values of one scan output, stacked on a new axis.
Value stacked(NodeReader& node, const std::vector<Value>& values, int axis, Value count,
              bool is_reversed) {
  std::vector<Value> rows;
  for (const Value& value : values) {
    if (!value) return {};
    if (value.type() != values[0].type()) {
      return node.unsupported("a scan output is %s in one iteration and %s in another",
                              to_string(values[0].type()).c_str(), to_string(value.type()).c_str());
    }
    rows.push_back(insert_axis(value, axis));
  }
  if (is_reversed) std::reverse(rows.begin(), rows.end());
  return with_count(concat(rows, axis), axis, count);
}

// A tensor without elements whose other extents are those of a value like x.
Value empty_stack(NodeReader& node, Value x) {
  Shape shape = x.shape();
  shape.insert(shape.begin(), 0);
  return node.builder().splat({x.dtype(), std::move(shape)}, 0);
}

// How often Loop may run at most, and how often it does: i64[], absent if nothing but the condition
// ends it.
struct TripCount {
  int64_t most = 0;
  Value exact;
};

std::optional<TripCount> trip_count(NodeReader& node) {
  TripCount trips;
  if (node.input(0)) trips.exact = reshape(cast(node.input(0), DType::kInt64), {});
  std::optional<int64_t> most = node.given_bound(0);
  if (trips.exact) {
    const std::optional<Shape> bound = trips.exact.upper_bounds();
    if (bound) most = std::min(most.value_or(INT64_MAX), std::max<int64_t>(bound->front(), 0));
  }
  const bool is_known = trips.exact && trips.exact.literal() != nullptr;
  if (is_known && *most > kMostIterations && node.input(1) && !known_bool(node.input(1))) {
    most = std::nullopt;  // a while loop: the number is only a formality
  }
  if (!most || (*most > kMostIterations && !is_known)) {
    node.unsupported(
        "how often it runs depends on data, and nothing bounds it; it must be known when "
        "compiling: "
        "give --bound '%s=N', the most iterations",
        node.label().c_str());
    return std::nullopt;
  }
  if (*most > kMostIterations) {
    node.unsupported("would run %" PRId64 " times; at most %" PRId64 " iterations are supported",
                     *most, kMostIterations);
    return std::nullopt;
  }
  trips.most = *most;
  return trips;
}

// Whether iteration i runs as far as the trip count says.
Value within(NodeReader& node, const TripCount& trips, int64_t i) {
  if (!trips.exact) return node.builder().scalar(DType::kBool, 1);
  return less(node.builder().scalar(DType::kInt64, static_cast<double>(i)), trips.exact);
}

// Unrolls until the trip count or a condition that is known ends it.
bool unroll(NodeReader& node, const ::onnx::GraphProto& body, const TripCount& trips,
            Unrolled* loop) {
  Value condition =
      node.input(1) ? reshape(node.input(1), {}) : node.builder().scalar(DType::kBool, 1);
  int64_t i = 0;
  for (;; ++i) {
    loop->alive = loop->alive ? logical_and(loop->alive, condition) : condition;
    loop->alive = logical_and(loop->alive, within(node, trips, i));
    if (i == trips.most || !known_bool(loop->alive).value_or(true)) break;
    std::vector<Value> inputs = {node.builder().scalar(DType::kInt64, static_cast<double>(i)),
                                 node.builder().scalar(DType::kBool, 1)};
    inputs.insert(inputs.end(), loop->carried.begin(), loop->carried.end());
    std::optional<std::vector<Value>> results = node.read_subgraph(body, inputs, loop->alive);
    if (!results || !(*results)[0]) return false;
    condition = reshape((*results)[0], {});
    results->erase(results->begin());
    if (!take_iteration(node, *results, loop)) return false;
  }
  if (i == trips.most && node.given_bound(0) && !known_bool(loop->alive)) {
    node.builder().watch_bound(loop->alive);  // it should have gone on
  }
  return true;
}

Value read_loop(NodeReader& node) {
  const ::onnx::GraphProto* body = node.required_graph("body");
  if (body == nullptr) return {};
  const auto carried = static_cast<size_t>(std::max(node.input_count() - 2, 0));
  const int scans = body->output_size() - 1 - static_cast<int>(carried);
  if (scans < 0 || body->input_size() != static_cast<int>(carried) + 2) {
    return node.corrupt("its body has %d inputs and %d outputs for %zu carried values",
                        body->input_size(), body->output_size(), carried);
  }
  const std::optional<TripCount> trips = trip_count(node);
  if (!trips) return {};
  Unrolled loop;
  for (size_t i = 0; i < carried; ++i) {
    loop.carried.push_back(node.input(static_cast<int>(i) + 2));
    if (!loop.carried.back()) return node.corrupt("input %zu is missing", i + 2);
  }
  loop.scanned.resize(static_cast<size_t>(scans));
  const std::vector<Value> initial = loop.carried;
  if (!unroll(node, *body, *trips, &loop)) return {};
  for (size_t i = 0; i < carried; ++i) node.set_output(static_cast<int>(i), loop.carried[i]);
  std::vector<Value> inputs = {node.builder().scalar(DType::kInt64, 0),
                               node.builder().scalar(DType::kBool, 1)};
  inputs.insert(inputs.end(), initial.begin(), initial.end());
  const bool never_runs = scans > 0 && loop.scanned[0].empty();
  const Value never = node.builder().scalar(DType::kBool, 0);
  const auto types = never_runs ? node.read_subgraph(*body, inputs, never) : std::nullopt;
  if (never_runs && !types) return {};
  for (size_t i = 0; i < loop.scanned.size(); ++i) {
    node.set_output(static_cast<int>(carried + i),
                    never_runs ? empty_stack(node, (*types)[1 + carried + i])
                               : stacked(node, loop.scanned[i], 0, loop.count, false));
  }
  return node.output(0);
}

// The attributes of Scan, one entry for each scanned input or output.
struct ScanLists {
  std::vector<int> input_axes;
  std::vector<int> output_axes;
  Shape input_directions;
  Shape output_directions;
};

std::optional<Shape> per_scan(NodeReader& node, const char* name, size_t count) {
  const std::optional<Shape> given = node.ints_attr(name);
  if (!given) return Shape(count, 0);
  if (given->size() == count) return given;
  node.corrupt("attribute '%s' has %zu entries for %zu values", name, given->size(), count);
  return std::nullopt;
}

// What iteration i reads of each scanned value.
std::optional<std::vector<Value>> scan_step(NodeReader& node, const std::vector<Value>& scanned,
                                            const ScanLists& lists, int64_t i, int64_t steps) {
  std::vector<Value> inputs;
  const Value one = node.builder().scalar(DType::kInt64, 1);
  const Value begin = node.builder().scalar(DType::kInt64, static_cast<double>(i));
  for (size_t s = 0; s < scanned.size(); ++s) {
    const int axis = lists.input_axes[s];
    if (scanned[s].dim(axis) != steps) {
      node.invalid("its sequences differ in length");
      return std::nullopt;
    }
    const bool is_back = lists.input_directions[s] != 0;
    const Value last = extent_of(scanned[s], axis) - 1.0;
    const Value step =
        has_count(scanned[s], axis)
            ? slice_counted(scanned[s], axis, is_back ? last - begin : begin, 1, one, 1)
            : slice_axis(scanned[s], axis, is_back ? steps - 1 - i : i, 1);
    inputs.push_back(drop_axes(step, {axis}));
  }
  return inputs;
}

// Scan output k as one tensor.
Value scan_output(NodeReader& node, const Unrolled& loop, const ScanLists& lists, size_t k) {
  const std::vector<Value>& values = loop.scanned[k];
  if (values.empty()) return node.unsupported("its sequences are empty");
  const bool is_reversed = lists.output_directions[k] != 0;
  const int rank = values[0].rank() + 1;
  const int axis = lists.output_axes[k] < 0 ? lists.output_axes[k] + rank : lists.output_axes[k];
  if (axis < 0 || axis >= rank) {
    return node.invalid("scan output axis %d is not one of %d axes", axis, rank);
  }
  if (is_reversed && !known_bool(loop.alive)) {
    return node.unsupported("a reversed scan output of a sequence whose length depends on data");
  }
  return stacked(node, values, axis, loop.count, is_reversed);
}

// One sequence: `states` first, then the values that are scanned, then what it gives.
std::optional<std::vector<Value>> scan_sequence(NodeReader& node, const ::onnx::GraphProto& body,
                                                std::vector<Value> states,
                                                const std::vector<Value>& scanned,
                                                const ScanLists& lists) {
  const int64_t steps = scanned[0].dim(lists.input_axes[0]);
  const Value length = extent_of(scanned[0], lists.input_axes[0]);
  const size_t outputs = static_cast<size_t>(body.output_size()) - states.size();
  Unrolled loop{std::move(states), std::vector<std::vector<Value>>(outputs), {}, {}};
  for (int64_t i = 0; i < steps; ++i) {
    loop.alive = less(node.builder().scalar(DType::kInt64, static_cast<double>(i)), length);
    const std::optional<std::vector<Value>> step = scan_step(node, scanned, lists, i, steps);
    if (!step) return std::nullopt;
    std::vector<Value> inputs = loop.carried;
    inputs.insert(inputs.end(), step->begin(), step->end());
    const std::optional<std::vector<Value>> results = node.read_subgraph(body, inputs, loop.alive);
    if (!results || !take_iteration(node, *results, &loop)) return std::nullopt;
  }
  std::vector<Value> results = std::move(loop.carried);
  for (size_t k = 0; k < outputs; ++k) {
    results.push_back(scan_output(node, loop, lists, k));
    if (!results.back()) return std::nullopt;
  }
  return results;
}

// Opset 8: a batch of sequences, one after the other.
Value read_batched_scan(NodeReader& node, const ::onnx::GraphProto& body, size_t scans,
                        ScanLists lists) {
  if (node.input(0)) return node.unsupported("sequence_lens is not supported: convert to opset 9");
  const size_t states = static_cast<size_t>(node.input_count()) - 1 - scans;
  std::vector<std::vector<Value>> by_output;
  const int64_t batch = node.input(1).dim(0);
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<Value> initial;
    std::vector<Value> scanned;
    for (int i = 1; i < node.input_count(); ++i) {
      if (!node.input(i) || node.input(i).rank() < 1 || node.input(i).dim(0) != batch) {
        return node.invalid("input %d is not a batch of %lld", i, static_cast<long long>(batch));
      }
      const Value one = drop_axes(slice_axis(node.input(i), 0, b, 1), {0});
      (static_cast<size_t>(i) <= states ? initial : scanned).push_back(one);
    }
    const auto results = scan_sequence(node, body, std::move(initial), scanned, lists);
    if (!results) return {};
    by_output.resize(results->size());
    for (size_t i = 0; i < results->size(); ++i) {
      by_output[i].push_back(insert_axis((*results)[i], 0));
    }
  }
  for (size_t i = 0; i < by_output.size(); ++i) {
    node.set_output(static_cast<int>(i), concat(by_output[i], 0));
  }
  return node.output(0);
}

Value read_scan(NodeReader& node) {
  const ::onnx::GraphProto* body = node.required_graph("body");
  const auto scans =
      static_cast<size_t>(std::max<int64_t>(node.required_int("num_scan_inputs"), 0));
  const bool is_batched = node.opset() < 9;
  if (body == nullptr) return {};
  const auto inputs = static_cast<size_t>(node.input_count()) - (is_batched ? 1 : 0);
  if (scans < 1 || scans > inputs || body->output_size() < static_cast<int>(inputs - scans)) {
    return node.corrupt("num_scan_inputs is %zu of %zu inputs", scans, inputs);
  }
  const size_t outputs = static_cast<size_t>(body->output_size()) - (inputs - scans);
  ScanLists lists;
  const auto in_axes = is_batched ? Shape(scans, 0) : per_scan(node, "scan_input_axes", scans);
  const auto out_axes =
      is_batched ? Shape(outputs, 0) : per_scan(node, "scan_output_axes", outputs);
  const auto in_directions =
      per_scan(node, is_batched ? "directions" : "scan_input_directions", scans);
  const auto out_directions =
      is_batched ? Shape(outputs, 0) : per_scan(node, "scan_output_directions", outputs);
  if (!in_axes || !out_axes || !in_directions || !out_directions) return {};
  lists.input_directions = *in_directions;
  lists.output_directions = *out_directions;
  lists.output_axes.assign(out_axes->begin(), out_axes->end());
  lists.input_axes.assign(in_axes->begin(), in_axes->end());
  if (is_batched) return read_batched_scan(node, *body, scans, std::move(lists));
  std::vector<Value> states(node.inputs().begin(),
                            node.inputs().end() - static_cast<ptrdiff_t>(scans));
  const std::vector<Value> scanned(node.inputs().end() - static_cast<ptrdiff_t>(scans),
                                   node.inputs().end());
  for (size_t s = 0; s < scans; ++s) {
    lists.input_axes[s] = node.axis(lists.input_axes[s], scanned[s].rank());
    if (scanned[s].rank() == 0) return node.invalid("a scanned input is a scalar");
  }
  const auto results = scan_sequence(node, *body, std::move(states), scanned, lists);
  if (!results) return {};
  for (size_t i = 0; i < results->size(); ++i) {
    node.set_output(static_cast<int>(i), (*results)[i]);
  }
  return node.output(0);
}

constexpr OpRow kOps[] = {
    {"If", 7, 1, 1, read_if},
    {"Loop", 7, 0, kAnyCount, read_loop},
    {"Scan", 8, 0, kAnyCount, read_scan},
};

}  // namespace

OpFamily control_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
