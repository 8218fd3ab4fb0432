// SPDX-License-Identifier: MIT
#include "codegen/onnx/recurrent.h"

#include <algorithm>
#include <numeric>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/recurrent_attributes.h"

namespace camshaft::onnx {
namespace {

constexpr int64_t kMostSteps = 4096;
// Steps from which on it pays to pad the state to where all steps can share kernels.
constexpr int64_t kFewSteps = 4;
constexpr int64_t kAlignment = 64;  // of what a kernel reads in place, in bytes

int64_t align_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// x with zeros after an axis.
Value padded(Value x, int axis, int64_t extent) {
  if (!x) return x;
  ir::PadAttrs attrs{Shape(x.shape().size(), 0), Shape(x.shape().size(), 0)};
  attrs.after[static_cast<size_t>(axis)] = extent - x.dim(axis);
  return pad(x, std::move(attrs));
}

class LayerReader {
 public:
  LayerReader(NodeReader& node, const RecurrentKind& kind)
      : node_(node), kind_(kind), attributes_(read_recurrent_attributes(node, kind.activations)) {}

  // False if a problem was told.
  bool read();
  void run(const std::function<RecurrentStep(const RecurrentDirection&)>& begin);
  Value set_outputs();

 private:
  bool has_shape(int i, const char* name, const Shape& shape);
  bool check_shapes();
  Value input(int i) const;
  void choose_hidden();
  Value state_input(int i, int64_t direction) const;
  void read_lengths();
  RecurrentDirection direction(int64_t number) const;
  void walk(const RecurrentDirection& direction, const RecurrentStep& step);
  Value alive_at(int64_t step) const;
  Value all_steps() const;
  Value last(Value RecurrentState::* state) const;
  Value finished(Value x) const;

  NodeReader& node_;
  const RecurrentKind& kind_;
  const std::optional<RecurrentAttributes> attributes_;
  DType dtype_ = DType::kFloat32;
  DType computed_ = DType::kFloat32;
  int64_t steps_ = 0;
  int64_t batch_ = 0;
  int64_t input_ = 0;
  int64_t hidden_ = 0;  // as the model has it
  int64_t computed_hidden_ = 0;
  int64_t directions_ = 1;
  Value x_;      // [steps, batch, input]
  Value alive_;  // bool [steps, at least batch]: does the sequence go so far? absent: all do
  std::vector<std::vector<Value>> outputs_;  // by direction and step
  std::vector<RecurrentState> last_;         // by direction
};

bool LayerReader::has_shape(int i, const char* name, const Shape& shape) {
  const Value value = node_.input(i);
  if (!value) return true;
  if (value.dtype() != dtype_) {
    node_.invalid("input %d (%s) is %s, but X is %s", i, name, base::dtype_name(value.dtype()),
                  base::dtype_name(dtype_));
    return false;
  }
  if (value.shape() == shape) return true;
  node_.invalid("input %d (%s) must be %s, not %s", i, name, shape_text(shape).c_str(),
                shape_text(value.shape()).c_str());
  return false;
}

bool LayerReader::check_shapes() {
  const int64_t rows = kind_.gates * hidden_;
  const Shape state = attributes_->batch_first ? Shape{batch_, directions_, hidden_}
                                               : Shape{directions_, batch_, hidden_};
  if (!has_shape(1, "W", {directions_, rows, input_}) ||
      !has_shape(2, "R", {directions_, rows, hidden_}) ||
      !has_shape(3, "B", {directions_, 2 * rows}) || !has_shape(5, "initial_h", state)) {
    return false;
  }
  if (kind_.has_cell &&
      (!has_shape(6, "initial_c", state) || !has_shape(7, "P", {directions_, 3 * hidden_}))) {
    return false;
  }
  const Value lengths = node_.input(4);
  if (lengths && (!base::is_int(lengths.dtype()) || lengths.shape() != Shape{batch_})) {
    node_.invalid("input 4 (sequence_lens) must be %lld integers, not %s",
                  static_cast<long long>(batch_), to_string(lengths.type()).c_str());
    return false;
  }
  return true;
}

bool LayerReader::read() {
  if (!attributes_) return false;
  const Value x = node_.input(0);
  if (!base::is_float(x.dtype()) || x.rank() != 3) {
    node_.invalid("X must be floats with 3 axes, not %s", to_string(x.type()).c_str());
    return false;
  }
  dtype_ = x.dtype();
  computed_ = dtype_ == DType::kFloat64 ? dtype_ : DType::kFloat32;
  directions_ = attributes_->directions;
  steps_ = x.dim(attributes_->batch_first ? 1 : 0);
  batch_ = x.dim(attributes_->batch_first ? 0 : 1);
  input_ = x.dim(2);
  hidden_ = attributes_->hidden_size.value_or(node_.input(2).dim(-1));
  if (!check_shapes()) return false;
  if (steps_ * directions_ > kMostSteps) {
    node_.unsupported(
        "%lld steps in all directions are too many: they are unrolled, %lld at most; give it a "
        "shorter sequence",
        static_cast<long long>(steps_ * directions_), static_cast<long long>(kMostSteps));
    return false;
  }
  x_ = cast(without_counts(x), computed_);
  if (attributes_->batch_first) x_ = transpose(x_, {1, 0, 2});
  choose_hidden();
  read_lengths();
  return true;
}

// An input as the computation takes it. Its axes have no counts: that X's and the weights' extents
// are equal is a rule for the model.
Value LayerReader::input(int i) const {
  return cast(without_counts(node_.input(i)), computed_);
}

// Units that are added to fill a step's state up to a multiple of the alignment start at 0 and have
// to stay there: so weights are padded with zeros, and what is applied to the sum must keep 0.
void LayerReader::choose_hidden() {
  computed_hidden_ = hidden_;
  const int64_t unit_bytes = std::max<int64_t>(batch_, 1) * base::dtype_size_bytes(computed_);
  if (steps_ < kFewSteps || hidden_ == 0 || hidden_ * unit_bytes % kAlignment == 0) return;
  for (const int i : {1, 2, 3, 7}) {
    if (node_.input(i) && node_.input(i).literal() == nullptr) return;
  }
  const Value zero = node_.builder().scalar(computed_, 0);
  const size_t count = kind_.activations.size();
  for (size_t i = 0; i < attributes_->activations.size(); ++i) {
    if (i % count == 0 && count > 1) continue;  // the first one is for gates, which only scale
    const RecurrentActivation& named = attributes_->activations[i];
    const auto at_zero = activation(named.name, zero, named.parameters).known_doubles();
    if (!at_zero || at_zero->front() != 0) return;
  }
  computed_hidden_ = align_up(hidden_, kAlignment / std::gcd(unit_bytes, kAlignment));
}

// Which steps of which sequence there are. Rows are padded so that each is aligned.
void LayerReader::read_lengths() {
  Value lengths = without_counts(node_.input(4));
  const int time_axis = attributes_->batch_first ? 1 : 0;
  if (has_count(node_.input(0), time_axis)) {
    const Value count = extent_of(node_.input(0), time_axis);
    lengths = lengths ? min(cast(lengths, DType::kInt64), count) : broadcast_to(count, {batch_});
  }
  if (!lengths) return;
  const std::optional<Shape> known = lengths.known_ints();
  if (known && std::all_of(known->begin(), known->end(), [&](auto n) { return n >= steps_; })) {
    return;
  }
  const Value padded_lengths =
      padded(cast(lengths, DType::kInt64), 0, align_up(std::max<int64_t>(batch_, 1), kAlignment));
  alive_ = less(reshape(node_.builder().iota(steps_), {steps_, 1}), padded_lengths);
}

Value LayerReader::alive_at(int64_t step) const {
  const Value row = slice_axis(slice_axis(alive_, 0, step, 1), 1, 0, batch_);
  return reshape(row, {batch_, 1});
}

// [batch, hidden] of an initial state.
Value LayerReader::state_input(int i, int64_t direction) const {
  const Value given = input(i);
  if (!given) return {};
  const Value one = slice_axis(given, attributes_->batch_first ? 1 : 0, direction, 1);
  return padded(reshape(one, {batch_, hidden_}), 1, computed_hidden_);
}

RecurrentDirection LayerReader::direction(int64_t number) const {
  const auto part = [&](int i, Shape shape) {
    const Value given = input(i);
    return given ? reshape(slice_axis(given, 0, number, 1), std::move(shape)) : Value();
  };
  const int64_t gates = kind_.gates;
  RecurrentDirection result;
  result.reverse = attributes_->reverse || number == 1;
  const auto first =
      attributes_->activations.begin() + number * static_cast<int64_t>(kind_.activations.size());
  result.activations.assign(first, first + static_cast<int64_t>(kind_.activations.size()));
  result.clip = attributes_->clip;
  result.batch = batch_;
  result.hidden = computed_hidden_;
  result.x = reshape(x_, {steps_ * batch_, input_});
  result.w = padded(part(1, {gates, hidden_, input_}), 1, result.hidden);
  result.r = padded(padded(part(2, {gates, hidden_, hidden_}), 1, result.hidden), 2, result.hidden);
  result.b = padded(part(3, {2, gates, hidden_}), 2, result.hidden);
  result.initial.h = state_input(5, number);
  if (kind_.has_cell) {
    result.initial.c = state_input(6, number);
    result.p = padded(part(7, {3, hidden_}), 1, result.hidden);
  }
  return result;
}

// A sequence that has ended keeps its state; in reverse it starts late.
void LayerReader::walk(const RecurrentDirection& direction, const RecurrentStep& step) {
  std::vector<Value> outputs(static_cast<size_t>(steps_));
  RecurrentState state = direction.initial;
  for (int64_t n = 0; n < steps_; ++n) {
    const int64_t t = direction.reverse ? steps_ - 1 - n : n;
    RecurrentState next = step(t, state);
    if (alive_) {
      const auto kept = [&](Value before, Value after) {
        return after ? select(alive_at(t), after, before ? before : scalar_like(after, 0)) : after;
      };
      next = {kept(state.h, next.h), kept(state.c, next.c)};
    }
    state = next;
    outputs[static_cast<size_t>(t)] = state.h;
    if (!state.h) break;  // told
  }
  const Value zeros = node_.builder().splat({computed_, {batch_, direction.hidden}}, 0);
  if (!state.h) state.h = zeros;
  if (kind_.has_cell && !state.c) state.c = zeros;
  outputs_.push_back(std::move(outputs));
  last_.push_back(state);
}

void LayerReader::run(const std::function<RecurrentStep(const RecurrentDirection&)>& begin) {
  for (int64_t number = 0; number < directions_; ++number) {
    const RecurrentDirection each = direction(number);
    walk(each, begin(each));
  }
}

// [steps, directions, batch, hidden], as it was computed but for padding.
Value LayerReader::all_steps() const {
  const Shape shape = {steps_, directions_, batch_, hidden_};
  if (steps_ == 0) return node_.builder().splat({computed_, shape}, 0);
  std::vector<Value> pieces;
  for (size_t t = 0; t < static_cast<size_t>(steps_); ++t) {
    for (const std::vector<Value>& outputs : outputs_) {
      if (!outputs[t]) return {};
      pieces.push_back(outputs[t]);
    }
  }
  const Value y = reshape(concat(pieces, 0), {steps_, directions_, batch_, computed_hidden_});
  return slice_axis(y, 3, 0, hidden_);
}

// [directions, batch, hidden]
Value LayerReader::last(Value RecurrentState::* state) const {
  std::vector<Value> pieces;
  for (const RecurrentState& each : last_) {
    pieces.push_back(insert_axis(slice_axis(each.*state, 1, 0, hidden_), 0));
  }
  return concat(pieces, 0);
}

// An output, whose next to last axes are directions and batch, in the model's form.
Value LayerReader::finished(Value x) const {
  if (!x) return x;
  const int rank = x.rank();
  const bool batch_first = attributes_->batch_first;
  if (batch_first) x = transpose(x, rank == 4 ? std::vector{2, 0, 1, 3} : std::vector{1, 0, 2});
  x = cast(x, dtype_);
  const Value given = node_.input(0);
  const int batch_axis = batch_first ? 1 : 0;
  if (has_count(given, 1 - batch_axis)) {
    x = with_count(x, batch_first ? 0 : rank - 2, extent_of(given, 1 - batch_axis));
  }
  if (rank == 4 && has_count(given, batch_axis)) {
    x = with_count(x, batch_axis, extent_of(given, batch_axis));
  }
  return x;
}

Value LayerReader::set_outputs() {
  node_.set_output(1, finished(last(&RecurrentState::h)));
  if (kind_.has_cell) node_.set_output(2, finished(last(&RecurrentState::c)));
  if (!node_.wants_output(0)) return {};
  Value y = all_steps();
  if (alive_) {
    const Value alive = reshape(slice_axis(alive_, 1, 0, batch_), {steps_, 1, batch_, 1});
    y = select(alive, y, scalar_like(y, 0));
  }
  return finished(y);
}

}  // namespace

Value RecurrentDirection::projected(int first, int count, bool with_recurrent_bias) const {
  const Value weights = reshape(slice_axis(w, 0, first, count), {count * hidden, w.dim(2)});
  const Value product = matmul(x, transpose(weights, {1, 0}));
  if (!b) return product;
  const Value biases = slice_axis(b, 1, first, count);
  const Value sum = with_recurrent_bias ? slice_axis(biases, 0, 0, 1) + slice_axis(biases, 0, 1, 1)
                                        : slice_axis(biases, 0, 0, 1);
  return product + reshape(sum, {count * hidden});
}

Value RecurrentDirection::at_step(Value projection, int64_t step) const {
  return slice_axis(projection, 0, step * batch, batch);
}

Value RecurrentDirection::recurrent_weights(int first, int count) const {
  return transpose(reshape(slice_axis(r, 0, first, count), {count * hidden, hidden}), {1, 0});
}

Value RecurrentDirection::recurrent_bias(int gate_number) const {
  return b ? reshape(slice_axis(slice_axis(b, 0, 1, 1), 1, gate_number, 1), {hidden}) : Value();
}

Value RecurrentDirection::peephole(int number) const {
  return p ? reshape(slice_axis(p, 0, number, 1), {hidden}) : Value();
}

Value RecurrentDirection::gate(Value gates, int number) const {
  return slice_axis(gates, 1, number * hidden, hidden);
}

Value RecurrentDirection::activate(int number, Value x_before, bool clips) const {
  if (clip && clips) x_before = min(max(x_before, -*clip), *clip);
  const RecurrentActivation& named = activations[static_cast<size_t>(number)];
  return activation(named.name, x_before, named.parameters);
}

Value plus_product(Value x, Value h, Value weights) {
  if (!h) return x;
  const Value product = matmul(h, weights);
  return x ? x + product : product;
}

Value read_recurrent(NodeReader& node, const RecurrentKind& kind,
                     const std::function<RecurrentStep(const RecurrentDirection&)>& begin) {
  LayerReader layer(node, kind);
  if (!layer.read()) return {};
  layer.run(begin);
  return layer.set_outputs();
}

}  // namespace camshaft::onnx
