// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "codegen/ir/graph.h"
#include "codegen/ir/graph_attrs.h"
#include "codegen/ir/infer_type_rules.h"
#include "codegen/ir/tensor_size.h"

namespace camshaft::ir {
namespace {

std::string list_types(const std::vector<TensorType>& types) {
  constexpr size_t kShown = 4;
  std::string text;
  for (size_t i = 0; i < types.size() && i < kShown; ++i) {
    text += (i > 0 ? ", " : "") + to_string(types[i]);
  }
  return types.size() > kShown ? text + ", ..." : text;
}

// Which element types an elementwise op takes.
bool takes_dtype(Op op, DType dtype) {
  switch (op) {
    case Op::kNot:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return !base::is_float(dtype);
    case Op::kShiftLeft:
    case Op::kShiftRight:
      return base::is_unsigned_int(dtype);
    case Op::kNeg:
    case Op::kAbs:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kRem:
    case Op::kPow:
    case Op::kMin:
    case Op::kMax:
    case Op::kLess:
    case Op::kLessEqual:
      return is_numeric(dtype);
    case Op::kEqual:
    case Op::kSelect:
    case Op::kCast:
      return true;
    case Op::kBitcast:
      return dtype != DType::kBool;
    default:  // exp, sqrt, floor, ...
      return base::is_float(dtype);
  }
}

TypeResult infer_reshape(const TypeQuery& query) {
  CAMSHAFT_TRY_ASSIGN(TensorType type, checked_type(query, {query.operand(0).dtype,
                                                            query.as<ReshapeAttrs>().shape}));
  if (type.elements() != query.operand(0).elements()) {
    return reject(query, "the shape %s has %lld elements, the operand %lld",
                  to_string(type).c_str(), static_cast<long long>(type.elements()),
                  static_cast<long long>(query.operand(0).elements()));
  }
  return type;
}

TypeResult infer_transpose(const TypeQuery& query) {
  const TensorType& x = query.operand(0);
  const std::vector<int>& perm = query.as<TransposeAttrs>().perm;
  std::vector<bool> seen(x.shape.size(), false);
  TensorType type{x.dtype, {}};
  for (const int axis : perm) {
    if (axis < 0 || axis >= x.rank() || seen[static_cast<size_t>(axis)]) break;
    seen[static_cast<size_t>(axis)] = true;
    type.shape.push_back(x.shape[static_cast<size_t>(axis)]);
  }
  if (perm.size() != x.shape.size() || type.shape.size() != perm.size()) {
    return reject(query, "perm is not a permutation of the %d axes", x.rank());
  }
  return type;
}

TypeResult infer_broadcast(const TypeQuery& query) {
  const TensorType& x = query.operand(0);
  const Shape& shape = query.as<BroadcastAttrs>().shape;
  CAMSHAFT_TRY_ASSIGN(TensorType type, checked_type(query, {x.dtype, shape}));
  bool fits = shape.size() == x.shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    fits = x.shape[i] == shape[i] || x.shape[i] == 1;
  }
  if (!fits) {
    return reject(query, "cannot stretch to %s: ranks must be equal and only extents of 1 stretch",
                  to_string(type).c_str());
  }
  return type;
}

TypeResult infer_slice(const TypeQuery& query) {
  const TensorType& x = query.operand(0);
  const auto& attrs = query.as<SliceAttrs>();
  if (attrs.begin.size() != x.shape.size() || attrs.extent.size() != x.shape.size() ||
      attrs.step.size() != x.shape.size()) {
    return reject(query, "begin, extent and step need one entry an axis");
  }
  CAMSHAFT_TRY_ASSIGN(TensorType type, checked_type(query, {x.dtype, attrs.extent}));
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (attrs.step[i] == 0) return reject(query, "step 0 on axis %zu", i);
    if (attrs.extent[i] == 0) continue;  // takes nothing, so begin does not matter
    int64_t last = 0;
    const bool overflows = __builtin_mul_overflow(attrs.extent[i] - 1, attrs.step[i], &last) ||
                           __builtin_add_overflow(last, attrs.begin[i], &last);
    if (overflows || attrs.begin[i] < 0 || attrs.begin[i] >= x.shape[i] || last < 0 ||
        last >= x.shape[i]) {
      return reject(query, "axis %zu: %lld elements from %lld by %lld leave [0, %lld)", i,
                    static_cast<long long>(attrs.extent[i]), static_cast<long long>(attrs.begin[i]),
                    static_cast<long long>(attrs.step[i]), static_cast<long long>(x.shape[i]));
    }
  }
  return type;
}

TypeResult infer_pad(const TypeQuery& query) {
  const TensorType& x = query.operand(0);
  const auto& attrs = query.as<PadAttrs>();
  if (attrs.before.size() != x.shape.size() || attrs.after.size() != x.shape.size()) {
    return reject(query, "before and after need one entry an axis");
  }
  TensorType type = x;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    const int64_t largest = std::max(attrs.before[i], attrs.after[i]);
    if (std::min(attrs.before[i], attrs.after[i]) < 0 || largest > kMaxTensorBytes) {
      return reject(query, "axis %zu: an amount is negative or too large", i);
    }
    int64_t limit = kMaxTensorBytes;
    if (attrs.mode == PadMode::kReflect) limit = std::max<int64_t>(x.shape[i] - 1, 0);
    if (attrs.mode == PadMode::kWrap) limit = x.shape[i];
    if (attrs.mode == PadMode::kEdge && x.shape[i] == 0) limit = 0;
    if (largest > limit) {
      return reject(query, "axis %zu: mode %s cannot pad an extent of %lld by %lld", i,
                    std::string(kPadModeNames[static_cast<int>(attrs.mode)]).c_str(),
                    static_cast<long long>(x.shape[i]), static_cast<long long>(largest));
    }
    type.shape[i] += attrs.before[i] + attrs.after[i];
  }
  return checked_type(query, std::move(type));
}

TypeResult infer_concat(const TypeQuery& query) {
  TensorType type = query.operand(0);
  const int axis = query.as<ConcatAttrs>().axis;
  if (axis < 0 || axis >= type.rank()) {
    return reject(query, "axis %d is not one of the %d axes", axis, type.rank());
  }
  const auto position = static_cast<size_t>(axis);
  int64_t total = 0;
  for (size_t i = 0; i < query.operands.size(); ++i) {
    TensorType other = query.operands[i];
    const bool same_rank = other.rank() == type.rank();
    const int64_t extent = same_rank ? other.shape[position] : 0;
    if (same_rank) other.shape[position] = type.shape[position];
    if (other != type) {
      return reject(query, "operand %zu differs in dtype or outside axis %d", i, axis);
    }
    total += extent;
    if (total > kMaxTensorBytes) return reject(query, "the result is too large");
  }
  type.shape[position] = total;
  return checked_type(query, std::move(type));
}

base::Status check_operand_count(const TypeQuery& query) {
  const OpInfo& info = op_info(query.op);
  const auto given = static_cast<int>(query.operands.size());
  if (info.arity >= 0 ? given != info.arity : given < 1) {
    return reject(query, "takes %s%d operands, given %d", info.arity < 0 ? "at least " : "",
                  info.arity < 0 ? 1 : info.arity, given);
  }
  if (query.attrs.index() != default_attrs(query.op).index()) {
    return reject(query, "has the attributes of another op");
  }
  return base::ok();
}

}  // namespace

base::Status reject(const TypeQuery& query, const char* format, ...) {
  char sentence[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(sentence, sizeof(sentence), format, args);
  va_end(args);
  return base::fail(base::Code::kInvalidArgument, "graph.infer_type", "%s: %s; operands: %s",
                    op_info(query.op).name, sentence, list_types(query.operands).c_str());
}

std::string find_size_problem(const TensorType& type) {
  int64_t bytes = base::dtype_size_bytes(type.dtype);
  bool is_empty = false;
  bool overflows = false;
  for (const int64_t extent : type.shape) {
    if (extent < 0) return "has a negative extent";
    is_empty = is_empty || extent == 0;
    // An extent of 0 must not hide a product that overflows without it: strides are made of those.
    overflows = overflows || __builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes);
  }
  if (!overflows && bytes <= kMaxTensorBytes) return "";
  const std::string size = overflows
                               ? "more than " + std::to_string(std::numeric_limits<int64_t>::max())
                               : std::to_string(bytes);
  return "is too large: it takes " + size + " bytes" +
         (is_empty ? " even with its empty axes counted as 1" : "") + ", and a tensor may take " +
         std::to_string(kMaxTensorBytes);
}

TypeResult checked_type(const TypeQuery& query, TensorType type) {
  const std::string problem = find_size_problem(type);
  if (problem.empty()) return type;
  return reject(query, "%s %s", to_string(type).c_str(), problem.c_str());
}

TypeResult infer_elementwise(const TypeQuery& query) {
  const bool select = query.op == Op::kSelect;
  const TensorType& x = query.operand(select ? 1 : 0);
  if (select && query.operand(0).dtype != DType::kBool) {
    return reject(query, "the condition must be bool");
  }
  for (size_t i = 0; i < query.operands.size(); ++i) {
    const TensorType& other = query.operands[i];
    if (other.shape != x.shape || (other.dtype != x.dtype && !(select && i == 0))) {
      return reject(query, "operands must agree in dtype and shape (broadcasting is explicit)");
    }
  }
  if (!takes_dtype(query.op, x.dtype)) {
    return reject(query, "is not defined on %s", base::dtype_name(x.dtype));
  }
  TensorType type = x;
  switch (query.op) {
    case Op::kIsNan:
    case Op::kEqual:
    case Op::kLess:
    case Op::kLessEqual:
      type.dtype = DType::kBool;
      break;
    case Op::kCast:
      type.dtype = query.as<CastAttrs>().to;
      break;
    case Op::kBitcast:
      type.dtype = query.as<CastAttrs>().to;
      if (type.dtype == DType::kBool || type.size_bytes() != x.size_bytes()) {
        return reject(query, "%s has not the size of %s", base::dtype_name(type.dtype),
                      base::dtype_name(x.dtype));
      }
      break;
    default:
      break;
  }
  return checked_type(query, std::move(type));
}

TypeResult infer_movement(const TypeQuery& query) {
  switch (query.op) {
    case Op::kReshape:
      return infer_reshape(query);
    case Op::kTranspose:
      return infer_transpose(query);
    case Op::kBroadcast:
      return infer_broadcast(query);
    case Op::kSlice:
      return infer_slice(query);
    case Op::kPad:
      return infer_pad(query);
    default:
      CAMSHAFT_CHECK(query.op == Op::kConcat);
      return infer_concat(query);
  }
}

base::Result<TensorType> infer_type(Op op, const std::vector<TensorType>& operands,
                                    const Attrs& attrs) {
  const TypeQuery query{op, operands, attrs};
  CAMSHAFT_TRY(check_operand_count(query));
  switch (op_info(op).op_class) {
    case OpClass::kElementwise:
      return infer_elementwise(query);
    case OpClass::kMovement:
      return infer_movement(query);
    case OpClass::kStructured:
      return infer_structured(query);
    case OpClass::kSource:
      break;
  }
  return reject(query, "a source has no operands to take its type from");
}

}  // namespace camshaft::ir
