// SPDX-License-Identifier: MIT
// OpenCL C 1.2. f16 and bf16 are ushort that holds the bits, so nothing needs cl_khr_fp16; lanes
// are the built-in vectors. Parameters are in global memory, local arrays private to their work
// item.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "codegen/render/c_dialect.h"
#include "codegen/render/c_names.h"

namespace camshaft::render {

namespace {

using ir::DType;
using ir::KOp;
using ir::ValueType;

// Beside C's: keywords, scalar types, and the functions that kernels call.
constexpr const char* kReserved[] = {
    "kernel", "global", "local",    "constant", "private", "read_only", "write_only", "half",
    "uchar",  "ushort", "uint",     "ulong",    "size_t",  "event_t",   "sampler_t",  "quad",
    "fabs",   "rint",   "prefetch", "INFINITY", "NAN",     "nan",       "complex",    "imaginary",
};
constexpr const char* kReservedPrefixes[] = {
    "vload", "vstore",  "convert_", "as_",        "get_",       "shared_", "image",
    "char",  "uchar",   "int",      "float",      "double",     "long",    "short",
    "half",  "params_", "texel_",   "read_image", "write_image"};

class OpenClC final : public CDialect {
 public:
  explicit OpenClC(bool is_narrow) : is_narrow_(is_narrow) {}

  const char* scalar_type(DType dtype) const override {
    if (is_narrow_ && dtype == DType::kInt64) return "int";
    constexpr const char* kNames[base::kDTypeCount] = {
        "float", "double", "ushort", "ushort", "char",  "short", "int",
        "long",  "uchar",  "ushort", "uint",   "ulong", "bool"};
    return kNames[static_cast<int>(dtype)];
  }
  std::string vector_type(DType dtype, int32_t lanes) const override {
    return scalar_type(dtype) + std::to_string(lanes);
  }
  std::string vector_declaration(DType /*dtype*/, int32_t /*lanes*/) const override { return ""; }
  bool is_reserved(std::string_view name) const override {
    return is_reserved_in_c(name) ||
           std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved) ||
           std::any_of(std::begin(kReservedPrefixes), std::end(kReservedPrefixes),
                       [&](const char* prefix) { return name.starts_with(prefix); });
  }

  std::string int_literal(int64_t value, DType dtype) const override {
    return CDialect::int_literal(value,
                                 is_narrow_ && dtype == DType::kInt64 ? DType::kInt32 : dtype);
  }
  std::string float_literal(double value, DType dtype) const override {
    const bool is_single = dtype == DType::kFloat32;
    if (std::isnan(value)) return is_single ? "nan(0u)" : "nan(0ul)";
    if (is_single) value = static_cast<double>(static_cast<float>(value));
    const std::string sign = std::signbit(value) ? "-" : "";
    if (std::isinf(value)) return sign + (is_single ? "INFINITY" : "(double)INFINITY");
    return sign + float_digits(std::fabs(value), is_single) + (is_single ? "f" : "");
  }
  std::string lanes(const std::string& type,
                    const std::vector<std::string>& elements) const override {
    std::string text = "(" + type + ")(";
    for (const std::string& element : elements) {
      text += (&element == &elements.front() ? "" : ", ") + element;
    }
    return text + ")";
  }
  // A plain constant would be wider than lanes of small integers.
  std::string lanes_constant(const std::string& type, const std::string& value) const override {
    return "(" + type + ")(" + value + ")";
  }
  std::string lane(const std::string& vector, int lane) const override {
    return vector + ".s" + "0123456789abcdef"[lane];
  }
  std::string shuffle(const std::string& type, const std::string& first, const std::string& second,
                      int count, const std::vector<int>& mask) const override {
    std::vector<std::string> elements;
    for (const int source : mask) {
      elements.push_back(source < count ? lane(first, source) : lane(second, source - count));
    }
    return lanes(type, elements);
  }

  CFunction function(KOp op) const override {
    switch (op) {
      case KOp::kFma:
        return {"fma", ""};
      case KOp::kAbs:
        return {"fabs", ""};
      case KOp::kSqrt:
        return {"sqrt", ""};
      case KOp::kFloor:
        return {"floor", ""};
      case KOp::kCeil:
        return {"ceil", ""};
      default:
        return {"rint", ""};
    }
  }
  CFunction conversion(ValueType from, ValueType to) const override {
    if (from.dtype == DType::kFloat16) return half_to_float(to.lanes);
    if (to.dtype == DType::kFloat16) return float_to_half(to.lanes);
    if (to.lanes == 1) return {"(" + std::string(scalar_type(to.dtype)) + ")", ""};
    return {"convert_" + vector_type(to.dtype, to.lanes), ""};
  }
  // Sums of small integers are wider than these, which as_ would not take.
  CFunction bitcast(ValueType /*from*/, ValueType to) const override {
    const bool is_small = to.lanes == 1 && base::dtype_size_bytes(to.dtype) < 4;
    return {is_small ? "(" + type_name(to) + ")" : "as_" + type_name(to), ""};
  }

  bool has_scalar_choice() const override { return true; }

  std::string load(ValueType type, int64_t alignment, ir::ArrayKind kind,
                   const std::string& pointer) const override {
    if (!is_whole(type, alignment)) {
      return "vload" + std::to_string(type.lanes) + "(0, " + pointer + ")";
    }
    return "*(" + std::string(address_space(kind)) + "const " + type_name(type) + "*)" + pointer;
  }
  std::string store(ValueType type, int64_t alignment, ir::ArrayKind kind,
                    const std::string& pointer, const std::string& value) const override {
    if (!is_whole(type, alignment)) {
      return "vstore" + std::to_string(type.lanes) + "(" + value + ", 0, " + pointer + ")";
    }
    return "*(" + std::string(address_space(kind)) + type_name(type) + "*)" + pointer + " = " +
           value;
  }
  std::string access_declaration(ValueType /*type*/, int64_t /*alignment*/) const override {
    return "";
  }

  std::string read_texel(DType dtype, const std::string& image, const std::string& x,
                         const std::string& y) const override {
    const std::string arguments = "(" + image + ", texel_border, " + place(x, y) + ")";
    return dtype == DType::kUInt8 ? "convert_uchar4(read_imageui" + arguments + ")"
                                  : "read_imagef" + arguments;
  }
  std::string write_texel(DType dtype, const std::string& image, const std::string& x,
                          const std::string& y, const std::string& value) const override {
    const std::string arguments = "(" + image + ", " + place(x, y) + ", ";
    return dtype == DType::kUInt8 ? "write_imageui" + arguments + "convert_uint4(" + value + "))"
                                  : "write_imagef" + arguments + value + ")";
  }
  // The border of an image with alpha is zeros.
  std::string texel_declaration() const override {
    return "__constant sampler_t texel_border = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | "
           "CLK_FILTER_NEAREST;\n";
  }

 private:
  static const char* address_space(ir::ArrayKind kind) {
    return kind == ir::ArrayKind::kParam    ? "__global "
           : kind == ir::ArrayKind::kShared ? "__local "
                                            : "";
  }
  std::string type_name(ValueType type) const {
    return type.lanes == 1 ? scalar_type(type.dtype) : vector_type(type.dtype, type.lanes);
  }
  std::string place(const std::string& x, const std::string& y) const {
    return is_narrow_ ? "(int2)(" + x + ", " + y + ")"
                      : "(int2)((int)(" + x + "), (int)(" + y + "))";
  }
  static bool is_whole(ValueType type, int64_t alignment) {
    return alignment >= type.lanes * static_cast<int64_t>(base::dtype_size_bytes(type.dtype));
  }

  // Conversions by way of memory are the only ones that a device without cl_khr_fp16 has. NVIDIA's
  // are such, but have instructions, so for them the device defines CAMSHAFT_PTX.
  static CFunction half_to_float(int32_t lanes) {
    const std::string count = lanes == 1 ? "" : std::to_string(lanes);
    return half_function("half" + count + "_to_float", "ushort" + count, "float", lanes,
                         "return vload_half" + count + "(0, (const half*)&x);",
                         R"(asm("cvt.f32.f16 %0, %1;" : "=f"(r$) : "h"(x$)))");
  }
  static CFunction float_to_half(int32_t lanes) {
    const std::string count = lanes == 1 ? "" : std::to_string(lanes);
    return half_function(
        "half" + count + "_of_float", "float" + count, "ushort", lanes,
        "ushort" + count + " bits; vstore_half" + count + "_rte(x, 0, (half*)&bits); return bits;",
        R"(asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r$) : "f"(x$)))");
  }
  // A function from lanes of type `from` to as many of scalar type `to`: `body`, or `instruction`
  // for each lane, of which r$ is the result and x$ the operand.
  static CFunction half_function(const std::string& name, const std::string& from,
                                 const std::string& to, int32_t lanes, const std::string& body,
                                 const std::string& instruction) {
    const std::string result = lanes == 1 ? to : to + std::to_string(lanes);
    const std::string head = result + " " + name + "(" + from + " x) { ";
    std::string by_lane;
    std::string results;
    for (int lane = 0; lane < lanes; ++lane) {
      const std::string digit(1, "0123456789abcdef"[lane]);
      by_lane += to + " r" + digit + "; ";
      std::string text = instruction;
      text.replace(text.find("r$"), 2, "r" + digit);
      text.replace(text.find("x$"), 2, lanes == 1 ? "x" : "x.s" + digit);
      by_lane += text + "; ";
      results += (lane == 0 ? "r" : ", r") + digit;
    }
    return {name, "#ifdef CAMSHAFT_PTX\n" + head + by_lane + "return (" + result + ")(" + results +
                      "); }\n#else\n" + head + body + " }\n#endif\n"};
  }

  bool is_narrow_;  // i64 is an int
};

}  // namespace

const CDialect& opencl_c() {
  static const OpenClC dialect(/*is_narrow=*/false);
  return dialect;
}

const CDialect& opencl_c_narrow() {
  static const OpenClC dialect(/*is_narrow=*/true);
  return dialect;
}

}  // namespace camshaft::render
