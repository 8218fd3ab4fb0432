// SPDX-License-Identifier: MIT
// What differs between the languages that kernels are printed in which look like C: names of types
// and functions, literals and conversions of lanes, access to memory. All else is shared
// (c_expr.cc, c_kernel.cc). A dialect has no state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/kernel.h"
#include "runtime/base/check.h"

namespace camshaft::render {

// A name in the language, and the line that must stand before the functions for it to mean what it
// should (empty: none).
struct CFunction {
  std::string name;
  std::string declaration;
  std::string last_arguments = {};  // ", f32x8"
};

class CDialect {
 public:
  // The type of values, never bool lanes: "float", "f32x8". f16 and bf16 may be held as bits.
  virtual const char* scalar_type(ir::DType dtype) const = 0;
  virtual std::string vector_type(ir::DType dtype, int32_t lanes) const = 0;
  // The line that declares it; empty where it is built in.
  virtual std::string vector_declaration(ir::DType dtype, int32_t lanes) const = 0;
  // Whether a variable can't have the name.
  virtual bool is_reserved(std::string_view name) const = 0;

  virtual std::string float_literal(double value, ir::DType dtype) const = 0;
  // Lanes of `type` from a text each, or the same one as the other operand of an operator on lanes.
  virtual std::string lanes(const std::string& type,
                            const std::vector<std::string>& elements) const = 0;
  virtual std::string lanes_constant(const std::string& type, const std::string& value) const = 0;
  // Lane number `lane` of a vector's name.
  virtual std::string lane(const std::string& vector, int lane) const = 0;
  // Lanes of two vectors of `count` lanes, laid one after the other.
  virtual std::string shuffle(const std::string& type, const std::string& first,
                              const std::string& second, int count,
                              const std::vector<int>& mask) const = 0;

  // kFma, kAbs, kSqrt, kFloor, kCeil, kRound, of floats.
  virtual CFunction function(ir::KOp op) const = 0;
  // kDot on lanes, where dot_form() has it.
  virtual CFunction dot(int32_t /*lanes*/) const { CAMSHAFT_CHECK(false); }
  // The function or, in parentheses, the type before a value in parentheses that converts it.
  // Neither type is bool, and floats fit the integers that they become.
  virtual CFunction conversion(ir::ValueType from, ir::ValueType to) const = 0;
  // Likewise, for the same bits as another type.
  virtual CFunction bitcast(ir::ValueType from, ir::ValueType to) const = 0;

  // Lanes at the address `pointer` of elements of a type that is a multiple of `alignment` bytes
  // (at least the element's size), in an array of that kind.
  virtual std::string load(ir::ValueType type, int64_t alignment, ir::ArrayKind kind,
                           const std::string& pointer) const = 0;
  // A statement without its semicolon.
  virtual std::string store(ir::ValueType type, int64_t alignment, ir::ArrayKind kind,
                            const std::string& pointer, const std::string& value) const = 0;
  // The line that declares what load() and store() need; empty: nothing.
  virtual std::string access_declaration(ir::ValueType type, int64_t alignment) const = 0;

  // For GPUs: the texel at a column and row of an image of `dtype`, as f32x4 or u8x4, zeros outside
  // of the image; a statement, without its semicolon, that stores one; and the line that must stand
  // before the functions. check_renderable() keeps images from other dialects.
  virtual std::string read_texel(ir::DType /*dtype*/, const std::string& /*image*/,
                                 const std::string& /*x*/, const std::string& /*y*/) const {
    CAMSHAFT_CHECK(false);
  }
  virtual std::string write_texel(ir::DType /*dtype*/, const std::string& /*image*/,
                                  const std::string& /*x*/, const std::string& /*y*/,
                                  const std::string& /*value*/) const {
    CAMSHAFT_CHECK(false);
  }
  virtual std::string texel_declaration() const { return ""; }

  // The type of an array's elements.
  const char* memory_type(ir::DType dtype) const {
    return scalar_type(dtype == ir::DType::kBool ? ir::DType::kUInt8 : dtype);
  }
  // Whether a scalar can choose between lanes.
  virtual bool has_scalar_choice() const { return false; }
  // A literal of exactly the dtype's type. Bool: "true" or "false".
  virtual std::string int_literal(int64_t value, ir::DType dtype) const;

 protected:
  ~CDialect() = default;
};

const CDialect& clang_c();
const CDialect& opencl_c();
// The same for kernels whose values of i64 all fit 32 bits: they are computed in these, which GPUs
// do several times as fast.
const CDialect& opencl_c_narrow();

// For dialects: the digits of a positive, finite value, with a point or an exponent.
std::string float_digits(double value, bool is_single);

}  // namespace camshaft::render
