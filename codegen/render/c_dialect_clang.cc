// SPDX-License-Identifier: MIT
// C for clang 19. f16 is _Float16, bf16 uint16_t that holds the bits. Lanes are clang's
// ext_vector_type: float x 8 is f32x8.
#include <cmath>

#include "codegen/render/c_dialect.h"
#include "codegen/render/c_names.h"

namespace camshaft::render {

namespace {

using ir::DType;
using ir::KOp;
using ir::ValueType;

class ClangC final : public CDialect {
 public:
  const char* scalar_type(DType dtype) const override {
    constexpr const char* kNames[base::kDTypeCount] = {
        "float",   "double",  "_Float16", "uint16_t", "int8_t",   "int16_t", "int32_t",
        "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "bool"};
    return kNames[static_cast<int>(dtype)];
  }

  // The lanes' name follows dtype_name().
  std::string vector_type(DType dtype, int32_t lanes) const override {
    const DType named = dtype == DType::kBFloat16 ? DType::kUInt16 : dtype;
    return std::string(base::dtype_name(named)) + "x" + std::to_string(lanes);
  }
  std::string vector_declaration(DType dtype, int32_t lanes) const override {
    return "typedef " + std::string(scalar_type(dtype)) + " " + vector_type(dtype, lanes) +
           " __attribute__((ext_vector_type(" + std::to_string(lanes) + ")));\n";
  }
  bool is_reserved(std::string_view name) const override { return is_reserved_in_c(name); }

  std::string float_literal(double value, DType dtype) const override {
    const bool is_single = dtype == DType::kFloat32;
    const std::string suffix = is_single ? "f" : "";
    if (std::isnan(value)) return "__builtin_nan" + suffix + "(\"\")";
    if (is_single) value = static_cast<double>(static_cast<float>(value));
    const std::string sign = std::signbit(value) ? "-" : "";
    if (std::isinf(value)) return sign + "__builtin_inf" + suffix + "()";
    return sign + float_digits(std::fabs(value), is_single) + suffix;
  }
  std::string lanes(const std::string& type,
                    const std::vector<std::string>& elements) const override {
    std::string text = "(" + type + "){";
    for (const std::string& element : elements) {
      text += (&element == &elements.front() ? "" : ", ") + element;
    }
    return text + "}";
  }
  std::string lanes_constant(const std::string& /*type*/, const std::string& value) const override {
    return value;
  }
  std::string lane(const std::string& vector, int lane) const override {
    return vector + "[" + std::to_string(lane) + "]";
  }
  std::string shuffle(const std::string& /*type*/, const std::string& first,
                      const std::string& second, int /*count*/,
                      const std::vector<int>& mask) const override {
    std::string text = "__builtin_shufflevector(" + first + ", " + second;
    for (const int lane : mask) text += ", " + std::to_string(lane);
    return text + ")";
  }

  CFunction function(KOp op) const override {
    const auto builtin = [](const char* name, const char* wanted) {
      // Without parameters: those of a macro would end at the commas of a vector in braces.
      return CFunction{name,
                       "#define " + std::string(name) + " __builtin_elementwise_" + wanted + "\n"};
    };
    switch (op) {
      case KOp::kFma:
        return builtin("fma", "fma");
      case KOp::kAbs:
        return builtin("abs", "abs");
      case KOp::kSqrt:
        return builtin("sqrt", "sqrt");
      case KOp::kFloor:
        return builtin("floor", "floor");
      case KOp::kCeil:
        return builtin("ceil", "ceil");
      default:
        return builtin("round_even", "roundeven");
    }
  }
  CFunction dot(int32_t lanes) const override {
    const std::string type = vector_type(DType::kInt32, lanes);
    const std::string bits = std::to_string(lanes * 32);
    const std::string name = "dot_" + type;
    std::string body;
    const auto line = [&](const std::string& text) { body += "  " + text + "\n"; };
    const auto lanes_of = [&](const char* element, const char* alias) {
      line("typedef " + std::string(element) + " " + alias + " __attribute__((vector_size(" +
           std::to_string(lanes * 4) + ")));");
    };
    lanes_of("int32_t", "words");
    body += "#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)\n";
    line("return (" + type + ")__builtin_ia32_vpdpbusd" + bits +
         "((words)sum, (words)a, (words)b);");
    body += "#elif defined(__AVX2__)\n";
    lanes_of("int16_t", "halves");
    lanes_of("uint16_t", "unsigned_halves");
    line("words even = (words)__builtin_ia32_pmaddwd" + bits +
         "((halves)a & 0xff, (halves)b << 8 >> 8);");
    line("words odd = (words)__builtin_ia32_pmaddwd" + bits +
         "((halves)((unsigned_halves)a >> 8), (halves)b >> 8);");
    line("return (" + type + ")((words)sum + (even + odd));");
    body += "#else\n";
    lanes_of("int8_t", "bytes");
    body += "#ifdef __ARM_FEATURE_MATMUL_INT8\n";
    line("return (" + type + ")__builtin_neon_vusdotq_s32((bytes)sum, (bytes)a, (bytes)b, 34);");
    body += "#else\n";
    line("const bytes half = (bytes){} + 64;");
    line("words of_half = (words)__builtin_neon_vdotq_s32((bytes){}, half, (bytes)b, 34);");
    line("of_half = (words)__builtin_neon_vdotq_s32((bytes)of_half, half, (bytes)b, 34);");
    line("return (" + type + ")__builtin_neon_vdotq_s32((bytes)((words)sum + of_half), " +
         "(bytes)a ^ (int8_t)-128, (bytes)b, 34);");
    body += "#endif\n#endif\n";
    return {name, "static inline " + type + " " + name + "(" + type + " sum, " + type + " a, " +
                      type + " b) {\n" + body + "}\n"};
  }
  CFunction conversion(ValueType /*from*/, ValueType to) const override {
    if (to.dtype == DType::kBFloat16) return narrowing(to.lanes);
    if (to.lanes == 1) return {"(" + std::string(scalar_type(to.dtype)) + ")", ""};
    return {"__builtin_convertvector", "", ", " + vector_type(to.dtype, to.lanes)};
  }
  CFunction bitcast(ValueType from, ValueType to) const override {
    const std::string type =
        to.lanes == 1 ? scalar_type(to.dtype) : vector_type(to.dtype, to.lanes);
    const auto is_float_in_c = [](DType dtype) {
      return base::is_float(dtype) && dtype != DType::kBFloat16;
    };
    if (to.lanes > 1 || (!is_float_in_c(from.dtype) && !is_float_in_c(to.dtype))) {
      return {"(" + type + ")", ""};
    }
    const std::string from_type = scalar_type(from.dtype);
    const std::string name =
        std::string(base::dtype_name(to.dtype)) + "_of_" + base::dtype_name(from.dtype);
    return {name, "static inline " + type + " " + name + "(" + from_type +
                      " x) { return ((union { " + from_type + " from; " + type +
                      " to; }){.from = x}).to; }\n"};
  }

  std::string load(ValueType type, int64_t alignment, ir::ArrayKind /*kind*/,
                   const std::string& pointer) const override {
    return "*(const " + access_type(type, alignment) + "*)" + pointer;
  }
  std::string store(ValueType type, int64_t alignment, ir::ArrayKind /*kind*/,
                    const std::string& pointer, const std::string& value) const override {
    return "*(" + access_type(type, alignment) + "*)" + pointer + " = " + value;
  }
  std::string access_declaration(ValueType type, int64_t alignment) const override {
    return "typedef " + vector_type(type.dtype, type.lanes) + " " + access_type(type, alignment) +
           " __attribute__((aligned(" + std::to_string(alignment) + ")));\n";
  }

 private:
  // f32 -> bf16 by the target's instruction.
  CFunction narrowing(int32_t lanes) const {
    const std::string from = vector_type(DType::kFloat32, lanes);
    const std::string to = vector_type(DType::kBFloat16, lanes);
    const std::string name = "bf16_of_" + from;
    return {name, "static inline " + to + " " + name + "(" + from +
                      " x) { typedef __bf16 lanes __attribute__((ext_vector_type(" +
                      std::to_string(lanes) + "))); return (" + to +
                      ")__builtin_convertvector(x, lanes); }\n"};
  }

  std::string access_type(ValueType type, int64_t alignment) const {
    return vector_type(type.dtype, type.lanes) + "_at" + std::to_string(alignment);
  }
};

}  // namespace

const CDialect& clang_c() {
  static const ClangC dialect;
  return dialect;
}

}  // namespace camshaft::render
