// SPDX-License-Identifier: MIT
// Fourier transforms, and the tables that go with them.
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/ir/literal.h"
#include "codegen/onnx/dft.h"
#include "codegen/onnx/extents.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kLongest = int64_t{1} << 24;  // more would not fit its tables

// A length or a step that must be known.
std::optional<int64_t> known_length(NodeReader& node, int i, const char* what) {
  const std::optional<double> value = node.known_scalar(i, what);
  if (!value) return std::nullopt;
  if (*value >= 1 && *value <= static_cast<double>(kLongest)) return static_cast<int64_t>(*value);
  node.invalid("input %d (%s) must be from 1 to %lld", i, what, static_cast<long long>(kLongest));
  return std::nullopt;
}

DType exact_dtype(DType dtype) {
  return dtype == DType::kFloat64 ? dtype : DType::kFloat32;
}

// --- DFT -----------------------------------------------------------------------------------------

// The axis of the signal: an attribute before opset 20, then an input.
std::optional<int> signal_axis(NodeReader& node, int rank) {
  int64_t axis = node.opset() < 20 ? node.int_attr("axis", 1) : -2;
  if (node.opset() >= 20 && node.input(2)) {
    const std::optional<double> given = node.known_scalar(2, "axis");
    if (!given) return std::nullopt;
    axis = static_cast<int64_t>(*given);
  }
  const int place = node.axis(axis, rank);
  if (place + 1 < rank) return place;
  node.invalid("axis %d holds real and imaginary parts, or there is no other", place);
  return std::nullopt;
}

Value read_dft(NodeReader& node) {
  const Value x = node.input(0);
  Dft transform;
  transform.inverse = node.flag_attr("inverse", false);
  transform.onesided = node.flag_attr("onesided", false);
  const int parts = x.rank() - 1;
  const std::optional<int> axis = signal_axis(node, x.rank());
  if (!axis) return {};
  if (has_count(x, *axis)) {
    return node.unsupported(
        "a signal whose length depends on data; give the model a fixed number of samples");
  }
  if (x.dim(parts) != 1 && x.dim(parts) != 2) {
    return node.invalid("the last axis must have 1 or 2 elements, not %lld",
                        static_cast<long long>(x.dim(parts)));
  }
  if (transform.onesided && !transform.inverse && x.dim(parts) == 2) {
    return node.invalid("onesided needs a real signal");
  }
  const bool is_real = transform.inverse && transform.onesided;
  transform.length = is_real ? 2 * (x.dim(*axis) - 1) : x.dim(*axis);
  if (node.input(1)) {
    const std::optional<int64_t> length = known_length(node, 1, "dft_length");
    if (!length) return {};
    transform.length = *length;
  }
  if (transform.length < 1) return node.invalid("the signal is empty");
  // [others, samples, parts] and back.
  std::vector<int> perm(static_cast<size_t>(x.rank()));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin() + *axis, perm.begin() + *axis + 1, perm.end() - 1);
  const Value moved = transpose(cast(x, exact_dtype(x.dtype())), perm);
  const int64_t samples = x.dim(*axis);
  int64_t rows = 1;
  for (int i = 0; i < parts; ++i) rows *= i == *axis ? 1 : x.dim(i);
  const Value y = dft(reshape(moved, {rows, samples, x.dim(parts)}), transform);
  if (!y) return {};
  Shape shape = moved.shape();
  shape[static_cast<size_t>(parts) - 1] = y.dim(1);
  shape[static_cast<size_t>(parts)] = y.dim(2);
  std::vector<int> back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int>(i);
  return cast(transpose(reshape(y, std::move(shape)), back), x.dtype());
}

// --- STFT ----------------------------------------------------------------------------------------

struct Frames {
  int64_t length = 0;
  int64_t step = 0;
  int64_t count = 0;
  Value window;  // [length]; absent: ones
};

std::optional<Frames> read_frames(NodeReader& node, Value x) {
  Frames frames;
  const std::optional<int64_t> step = known_length(node, 1, "frame_step");
  if (!step) return std::nullopt;
  frames.step = *step;
  frames.window = node.input(2);
  frames.length = frames.window ? frames.window.dim(0) : x.dim(1);
  if (node.input(3)) {
    const std::optional<int64_t> length = known_length(node, 3, "frame_length");
    if (!length) return std::nullopt;
    frames.length = *length;
  }
  const bool is_vector = !frames.window || frames.window.shape() == Shape{frames.length};
  if (!is_vector || frames.length < 1 || frames.length > x.dim(1)) {
    node.invalid("a frame of %lld with a window of %s does not fit a signal of %lld",
                 static_cast<long long>(frames.length),
                 frames.window ? shape_text(frames.window.shape()).c_str() : "no shape",
                 static_cast<long long>(x.dim(1)));
    return std::nullopt;
  }
  frames.count = (x.dim(1) - frames.length) / frames.step + 1;
  return frames;
}

// A known window and a table of moderate size: the transform of all frames is one convolution of
// the signal, whose kernels are the rows of the table under the window.
Value stft_by_convolution(Value x, const Frames& frames, const Dft& transform) {
  const int64_t parts = x.dim(2);
  const int64_t outputs = transform.bins() * 2;
  if (!x.builder()->may_make(outputs * parts * frames.length)) return {};
  const std::vector<double> table = dft_table(transform, frames.length, parts);
  const std::vector<double> window =
      frames.window ? *frames.window.known_doubles()
                    : std::vector<double>(static_cast<size_t>(frames.length), 1.0);
  ir::Literal kernels = ir::zero_literal({x.dtype(), {outputs, parts, frames.length}});
  for (int64_t row = 0; row < frames.length * parts; ++row) {
    const int64_t sample = row / parts, part = row % parts;
    for (int64_t output = 0; output < outputs; ++output) {
      ir::set_literal_element(
          kernels, (output * parts + part) * frames.length + sample,
          table[static_cast<size_t>(row * outputs + output)] * window[static_cast<size_t>(sample)]);
    }
  }
  const Value y = conv(transpose(x, {0, 2, 1}), x.builder()->constant(std::move(kernels)),
                       {{frames.step}, {1}, {0}, {0}, 1});
  return transpose(reshape(y, {x.dim(0), transform.bins(), 2, frames.count}), {0, 3, 1, 2});
}

Value stft_by_frames(Value x, const Frames& frames, const Dft& transform) {
  if (!x.builder()->may_make(frames.count * frames.length)) return {};
  Shape samples;
  for (int64_t frame = 0; frame < frames.count; ++frame) {
    for (int64_t i = 0; i < frames.length; ++i) samples.push_back(frame * frames.step + i);
  }
  Value cut = reshape(gather(x, x.builder()->ints(samples), 1),
                      {x.dim(0) * frames.count, frames.length, x.dim(2)});
  if (frames.window) cut = cut * place_axes(cast(frames.window, x.dtype()), {0}, 2);
  const Value y = dft(cut, transform);
  return y ? reshape(y, {x.dim(0), frames.count, transform.bins(), 2}) : y;
}

Value read_stft(NodeReader& node) {
  const Value given = node.input(0);
  if (given.rank() != 3 || given.dim(2) < 1 || given.dim(2) > 2) {
    return node.invalid("the signal must be [batch, samples, 1 or 2], not %s",
                        shape_text(given.shape()).c_str());
  }
  const std::optional<Frames> frames = read_frames(node, given);
  const bool onesided = node.flag_attr("onesided", true);
  if (!frames) return {};
  if (onesided && given.dim(2) == 2) return node.invalid("onesided needs a real signal");
  const Value x = cast(given, exact_dtype(given.dtype()));
  const Dft transform{frames->length, false, onesided};
  const bool is_known = !frames->window || frames->window.literal() != nullptr;
  const Value y = is_known && frames->length <= kDirectLength
                      ? stft_by_convolution(x, *frames, transform)
                      : stft_by_frames(x, *frames, transform);
  return cast(y, given.dtype());
}

// --- Windows -------------------------------------------------------------------------------------

// a - b cos(t) + c cos(2 t), with t from 0 through a full turn.
Value cosine_window(NodeReader& node, double a, double b, double c) {
  const bool periodic = node.flag_attr("periodic", true);
  const DType dtype = node.dtype_attr("output_datatype", DType::kFloat32);
  const std::optional<double> size = node.known_scalar(0, "size");
  if (!size) return {};
  const auto count = static_cast<int64_t>(*size);
  if (count < 0 || !node.builder().may_make(count)) {
    return count < 0 ? node.invalid("size is negative") : Value();
  }
  const auto steps = static_cast<double>(periodic ? count : std::max<int64_t>(count - 1, 1));
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const double t = 2 * kPi * static_cast<double>(i) / steps;
    values.push_back(a - b * std::cos(t) + c * std::cos(2 * t));
  }
  return node.builder().vector(dtype, values);
}

Value read_hann_window(NodeReader& node) {
  return cosine_window(node, 0.5, 0.5, 0);
}
Value read_hamming_window(NodeReader& node) {
  return cosine_window(node, 25.0 / 46, 21.0 / 46, 0);
}
Value read_blackman_window(NodeReader& node) {
  return cosine_window(node, 0.42, 0.5, 0.08);
}

// --- MelWeightMatrix -----------------------------------------------------------------------------

double mel_of(double hertz) {
  return 2595 * std::log10(1 + hertz / 700);
}
double hertz_of(double mel) {
  return 700 * (std::pow(10, mel / 2595) - 1);
}

// Bins of the spectrum where triangles begin, peak and end: equally far apart in mel.
Shape mel_bins(double bands, double length, double rate, double low, double high) {
  Shape bins;
  const double step = (mel_of(high) - mel_of(low)) / (bands + 2);
  for (int64_t i = 0; i < static_cast<int64_t>(bands) + 2; ++i) {
    const double hertz = hertz_of(mel_of(low) + static_cast<double>(i) * step);
    bins.push_back(static_cast<int64_t>(std::floor((length + 1) * hertz / rate)));
  }
  return bins;
}

// The rising side of triangle `band` reaches 1 at the peak, where the falling one begins.
void add_triangle(const Shape& bins, int64_t band, int64_t bands, std::vector<double>* matrix) {
  const auto at = [&](int64_t bin) -> double& {
    return (*matrix)[static_cast<size_t>(bin * bands + band)];
  };
  const auto i = static_cast<size_t>(band);
  const int64_t low = bins[i], peak = bins[i + 1], high = bins[i + 2];
  if (low == peak) at(peak) = 1;
  for (int64_t bin = low; low < peak && bin <= peak; ++bin) {
    at(bin) = static_cast<double>(bin - low) / static_cast<double>(peak - low);
  }
  for (int64_t bin = peak; bin < high; ++bin) {
    at(bin) = static_cast<double>(high - bin) / static_cast<double>(high - peak);
  }
}

Value read_mel_weight_matrix(NodeReader& node) {
  const DType dtype = node.dtype_attr("output_datatype", DType::kFloat32);
  constexpr const char* kNames[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                    "upper_edge_hertz"};
  std::vector<double> given;
  for (int i = 0; i < 5; ++i) {
    const std::optional<double> value = node.known_scalar(i, kNames[i]);
    if (!value) return {};
    if (!(*value >= 0 && *value < 1e9)) return node.invalid("input %d is out of range", i);
    given.push_back(*value);
  }
  const auto bands = static_cast<int64_t>(given[0]);
  const int64_t spectrum = static_cast<int64_t>(given[1]) / 2 + 1;
  if (given[2] < 1 || given[3] > given[4]) return node.invalid("the edges or the rate are wrong");
  if (bands > kLongest || !node.builder().may_make(bands * spectrum)) return {};
  const Shape bins = mel_bins(given[0], given[1], given[2], given[3], given[4]);
  if (bands > 0 && (bins.back() > spectrum || bins[bins.size() - 2] >= spectrum)) {
    return node.invalid("the upper edge is beyond half the sample rate");
  }
  std::vector<double> matrix(static_cast<size_t>(spectrum * bands));
  for (int64_t band = 0; band < bands; ++band) add_triangle(bins, band, bands, &matrix);
  return node.builder().constant(ir::make_literal({dtype, {spectrum, bands}}, matrix));
}

constexpr OpRow kOps[] = {
    {"DFT", 17, 1, 3, read_dft},
    {"STFT", 17, 2, 4, read_stft},
    {"HannWindow", 17, 1, 1, read_hann_window},
    {"HammingWindow", 17, 1, 1, read_hamming_window},
    {"BlackmanWindow", 17, 1, 1, read_blackman_window},
    {"MelWeightMatrix", 17, 5, 5, read_mel_weight_matrix},
};

}  // namespace

OpFamily signal_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
