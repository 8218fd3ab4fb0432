// SPDX-License-Identifier: MIT
#include "tools/command/difference.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"
#include "tools/command/table.h"
#include "tools/command/text.h"

namespace camshaft::command {

using io::Json;

namespace {

// How much of the allowed error an error is; infinity where no error is allowed, or none is finite.
double share_of(double allowed, double error) {
  if (error == 0) return 0;
  return allowed > 0 && std::isfinite(error) ? error / allowed : INFINITY;
}

}  // namespace

void Difference::add_element(uint64_t index, double actual, double expected) {
  ++elements_;
  const bool is_equal = actual == expected || (std::isnan(actual) && std::isnan(expected));
  double error = is_equal ? 0 : std::abs(actual - expected);
  if (std::isnan(error)) error = INFINITY;
  if (!std::isfinite(actual)) {
    ++not_finite_;
    if (std::isfinite(expected)) ++not_finite_alone_;
  } else if (std::isfinite(expected)) {
    squared_error_ += error * error;
    dot_ += actual * expected;
    actual_squared_ += actual * actual;
    expected_squared_ += expected * expected;
  }
  const double allowed = tolerance_.atol + tolerance_.rtol * std::abs(expected);
  if (!is_equal && !(error <= allowed && std::isfinite(error))) ++outside_;
  if (expected != 0 && error > 0) max_rel_ = std::max(max_rel_, error / std::abs(expected));
  max_abs_ = std::max(max_abs_, error);
  const double share = share_of(allowed, error);
  if (share > worst_share_ || (share == worst_share_ && error > worst_error_)) {
    worst_share_ = share;
    worst_error_ = error;
    worst_index_ = index;
    worst_actual_ = actual;
    worst_expected_ = expected;
  }
}

void Difference::add(base::DType dtype, const std::byte* actual, const std::byte* expected,
                     uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    add_element(i, io::element(dtype, actual, i), io::element(dtype, expected, i));
  }
}

void Difference::add(base::DType dtype, const std::byte* actual, std::span<const double> expected) {
  for (uint64_t i = 0; i < expected.size(); ++i) {
    add_element(i, io::element(dtype, actual, i), expected[i]);
  }
}

void Difference::add(std::span<const double> actual, std::span<const double> expected) {
  CAMSHAFT_CHECK(actual.size() == expected.size());
  for (uint64_t i = 0; i < expected.size(); ++i) add_element(i, actual[i], expected[i]);
}

double Difference::rms() const {
  if (!all_match()) return INFINITY;
  return elements_ == 0 ? 0 : std::sqrt(squared_error_ / static_cast<double>(elements_));
}

double Difference::relative_rms() const {
  if (!all_match()) return INFINITY;
  return squared_error_ == 0 ? 0 : std::sqrt(squared_error_ / expected_squared_);
}

double Difference::cosine() const {
  if (!all_match()) return NAN;
  const double norms = std::sqrt(actual_squared_) * std::sqrt(expected_squared_);
  if (norms == 0) return actual_squared_ == expected_squared_ ? 1 : 0;
  return std::min(1.0, dot_ / norms);
}

double Difference::snr_db() const {
  if (!all_match()) return -INFINITY;
  return squared_error_ == 0 ? INFINITY : 10 * std::log10(expected_squared_ / squared_error_);
}

void NamedDifference::add(const io::Tensor& actual, const io::Tensor& expected) {
  if (actual.shape == expected.shape) {
    const auto item_bytes = static_cast<uint64_t>(base::dtype_size_bytes(actual.dtype));
    difference.add(actual.dtype, actual.bytes.data(), expected.bytes.data(),
                   actual.bytes.size() / item_bytes);
  } else if (shapes.empty()) {
    shapes = io::type_text(actual.dtype, actual.shape) + ", expected " +
             io::type_text(expected.dtype, expected.shape);
  }
}

namespace {

// What two equal infinities say is little: they may hide what is wrong.
std::string within_text(const Difference& difference) {
  if (difference.not_finite() == 0) return "within";
  return format_text("within; %llu are infinite or NaN in both",
                     static_cast<unsigned long long>(difference.not_finite()));
}

std::string outside_text(const Difference& difference) {
  std::string text =
      format_text("%llu outside", static_cast<unsigned long long>(difference.outside()));
  if (difference.not_finite_alone() > 0) {
    text += format_text(", %llu of them infinite or NaN",
                        static_cast<unsigned long long>(difference.not_finite_alone()));
  }
  return text + format_text("; element %llu is %.9g, expected %.9g",
                            static_cast<unsigned long long>(difference.worst_index()),
                            difference.worst_actual(), difference.worst_expected());
}

std::string verdict_text(const NamedDifference& named) {
  if (!named.shapes.empty()) return "is " + named.shapes;
  return named.difference.is_within() ? within_text(named.difference)
                                      : outside_text(named.difference);
}

}  // namespace

bool are_within(const std::vector<NamedDifference>& differences) {
  return std::all_of(differences.begin(), differences.end(),
                     [](const NamedDifference& named) { return named.is_within(); });
}

std::string differences_text(const std::vector<NamedDifference>& differences) {
  Table table({{"output"},
               {"elements", Align::kRight},
               {"max abs", Align::kRight},
               {"max rel", Align::kRight},
               {"rms", Align::kRight},
               {"relative rms", Align::kRight},
               {"cosine", Align::kRight},
               {"SNR dB", Align::kRight},
               {"verdict"}});
  for (const NamedDifference& named : differences) {
    const Difference& difference = named.difference;
    table.add_row({named.name, std::to_string(difference.elements()),
                   format_text("%.3g", difference.max_abs()),
                   format_text("%.3g", difference.max_rel()), format_text("%.3g", difference.rms()),
                   format_text("%.3g", difference.relative_rms()),
                   format_text("%.9f", difference.cosine()),
                   format_text("%.1f", difference.snr_db()), verdict_text(named)});
  }
  return table.text();
}

Json differences_json(const std::vector<NamedDifference>& differences) {
  Json list = Json::array();
  for (const NamedDifference& named : differences) {
    const Difference& difference = named.difference;
    list.push_back({{"name", named.name},
                    {"within", named.is_within()},
                    {"shapes", named.shapes.empty() ? Json() : Json(named.shapes)},
                    {"elements", difference.elements()},
                    {"outside", difference.outside()},
                    {"not_finite", difference.not_finite()},
                    {"not_finite_alone", difference.not_finite_alone()},
                    {"max_abs", difference.max_abs()},
                    {"max_rel", difference.max_rel()},
                    {"rms", difference.rms()},
                    {"relative_rms", difference.relative_rms()},
                    {"cosine", difference.cosine()},
                    {"snr_db", difference.snr_db()},
                    {"worst",
                     {{"index", difference.worst_index()},
                      {"actual", difference.worst_actual()},
                      {"expected", difference.worst_expected()}}}});
  }
  return list;
}

}  // namespace camshaft::command
