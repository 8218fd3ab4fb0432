// SPDX-License-Identifier: MIT
#include "tools/command/random_input.h"

#include <cmath>
#include <cstdlib>
#include <random>

namespace camshaft::command {
namespace {

using base::Code;
using base::DType;

Range default_range(DType dtype) {
  if (base::is_float(dtype)) return {-1, 1};
  switch (dtype) {
    case DType::kUInt8:
      return {0, 255};
    case DType::kInt8:
      return {-128, 127};
    case DType::kBool:
      return {0, 1};
    default:
      return {0, 9};
  }
}

bool parse_number(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(value);
}

uint64_t hash_of(const std::string& name) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

base::Status add_range(const std::string& text, Ranges& ranges) {
  const size_t equals = text.rfind('=');
  const size_t colon = equals == std::string::npos ? equals : text.find(':', equals);
  Range range;
  if (colon == std::string::npos ||
      !parse_number(text.substr(equals + 1, colon - equals - 1), range.low) ||
      !parse_number(text.substr(colon + 1), range.high) || range.low > range.high) {
    return base::fail(Code::kInvalidArgument, "input.range",
                      "--range %s: write NAME=LOW:HIGH with two numbers, the lower one first",
                      text.c_str());
  }
  ranges[text.substr(0, equals)] = range;
  return base::ok();
}

bool is_range_of(DType dtype, const Range& range) {
  if (!std::isfinite(range.high - range.low)) return false;
  for (const double bound : {range.low, range.high}) {
    std::byte element[sizeof(double)];
    io::set_element(dtype, element, 0, bound);
    if (!std::isfinite(io::element(dtype, element, 0))) return false;
  }
  return true;
}

io::Tensor random_tensor(const plan::TensorInfo& input, const Ranges& ranges, uint64_t seed) {
  const auto found = ranges.find(input.name);
  const Range range = found == ranges.end() ? default_range(input.dtype) : found->second;
  // The engine's numbers are fixed by the standard, those of its distributions are not.
  std::mt19937_64 engine(seed * 0x9e3779b97f4a7c15 ^ hash_of(input.name));
  io::Tensor tensor{input.dtype, input.shape, std::vector<std::byte>(input.size_bytes())};
  const uint64_t count =
      input.size_bytes() / static_cast<uint64_t>(base::dtype_size_bytes(input.dtype));
  const bool is_float = base::is_float(input.dtype);
  for (uint64_t i = 0; i < count; ++i) {
    const double unit = std::ldexp(static_cast<double>(engine() >> 11), -53);  // [0, 1)
    const double value = is_float ? range.low + unit * (range.high - range.low)
                                  : std::floor(range.low + unit * (range.high - range.low + 1));
    io::set_element(input.dtype, tensor.bytes.data(), i, value);
  }
  return tensor;
}

}  // namespace camshaft::command
