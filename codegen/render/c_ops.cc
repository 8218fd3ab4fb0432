// SPDX-License-Identifier: MIT
// What each operation becomes in C.
#include <utility>

#include "codegen/render/c_expr.h"

namespace camshaft::render {

using ir::DType;
using ir::Expr;
using ir::ExprId;
using ir::KOp;
using ir::ValueType;

namespace {

// Integers that C widens to int before it computes.
bool is_promoted(ValueType type) {
  return type.lanes == 1 && base::is_int(type.dtype) && size_of(type.dtype) < 4;
}

const char* operator_of(KOp op) {
  switch (op) {
    case KOp::kAdd:
      return " + ";
    case KOp::kSub:
      return " - ";
    case KOp::kMul:
      return " * ";
    case KOp::kDiv:
      return " / ";
    case KOp::kRem:
      return " % ";
    case KOp::kAnd:
      return " & ";
    case KOp::kOr:
      return " | ";
    case KOp::kXor:
      return " ^ ";
    case KOp::kShl:
      return " << ";
    case KOp::kShr:
      return " >> ";
    case KOp::kEq:
      return " == ";
    case KOp::kLt:
    case KOp::kMin:
      return " < ";
    case KOp::kLe:
      return " <= ";
    case KOp::kMax:
      return " > ";
    default:
      CAMSHAFT_CHECK(false && "not a C operator");
      return "";
  }
}

}  // namespace

// Whether the right operand is an i64 constant beside a left one that decides the type, so that it
// needs no suffix.
bool CExprPrinter::is_plain_constant(const Expr& e, int64_t* value) const {
  const Expr& left = expr(e.args[0]);
  return left.type == ValueType{DType::kInt64, 1} && left.op != KOp::kIntConst &&
         kernel_.is_int_const(e.args[1], value) && *value != INT64_MIN;
}

std::string CExprPrinter::right_operand(const Expr& e, Level level) {
  int64_t value = 0;
  return is_plain_constant(e, &value) ? std::to_string(value) : at_most(e.args[1], level);
}

CExprPrinter::Printed CExprPrinter::print_broadcast(const Expr& e) {
  const ExprId scalar = e.args[0];
  const bool is_atom = printed(scalar).is_atom;
  if (e.type.dtype == DType::kBool) {
    const std::string type = prelude_.types.mask_name(4, e.type.lanes);
    return {.text = "(" + type + ")(-(" + dialect_.scalar_type(DType::kInt32) + ")" +
                    operand(scalar) + ")",
            .level = Level::kUnary,
            .mask_bytes = 4,
            .is_atom = is_atom};
  }
  return {.text = "(" + prelude_.types.name(e.type) + ")(" + full(scalar) + ")",
          .level = Level::kUnary,
          .is_atom = is_atom};
}

CExprPrinter::Printed CExprPrinter::print_ramp(const Expr& e) {
  const std::string type = prelude_.types.name(e.type);
  std::vector<std::string> numbers;
  for (int lane = 0; lane < e.type.lanes; ++lane) numbers.push_back(std::to_string(lane));
  std::string steps = dialect_.lanes(type, numbers);
  int64_t stride = 0;
  if (!kernel_.is_int_const(e.args[1], &stride) || stride != 1) {
    steps += " * (" + type + ")(" + full(e.args[1]) + ")";
  }
  return {.text = "(" + type + ")(" + full(e.args[0]) + ") + " + steps, .level = Level::kAdd};
}

CExprPrinter::Printed CExprPrinter::print_reduce(const Expr& e) {
  ValueType type = expr(e.args[0]).type;
  std::string whole = primary_atom(e.args[0]);
  for (;;) {
    type.lanes /= 2;
    const std::string low = whole + ".lo";
    const std::string high = whole + ".hi";
    std::string text;
    if (e.op == KOp::kReduceAdd) {
      text = low + " + " + high;
      if (is_promoted(type))
        text = "(" + std::string(dialect_.scalar_type(type.dtype)) + ")(" + text + ")";
    } else {
      text = low + (e.op == KOp::kReduceMax ? " > " : " < ") + high + " ? " + low + " : " + high;
    }
    if (type.lanes == 1) return {.text = text, .level = Level::kOther};
    whole = name_text(prelude_.types.name(type), text);
  }
}

CExprPrinter::Printed CExprPrinter::print_arithmetic(const Expr& e) {
  const bool is_sum = e.op == KOp::kAdd || e.op == KOp::kSub;
  const bool is_product = e.op == KOp::kMul || e.op == KOp::kDiv || e.op == KOp::kRem;
  const Level level = is_sum ? Level::kAdd : is_product ? Level::kMul : Level::kOther;
  const Level left_level = level == Level::kOther ? Level::kUnary : level;
  const Level right_level = is_sum ? Level::kMul : Level::kUnary;
  const std::string left = at_most(e.args[0], left_level);
  int64_t value = 0;
  const bool is_negated = e.op == KOp::kAdd && is_plain_constant(e, &value) && value < 0;
  const std::string text = is_negated ? left + " - " + std::to_string(-value)
                                      : left + operator_of(e.op) + right_operand(e, right_level);
  if (!is_promoted(e.type)) return {.text = text, .level = level};
  return {.text = "(" + std::string(dialect_.scalar_type(e.type.dtype)) + ")(" + text + ")",
          .level = Level::kUnary};
}

CExprPrinter::Printed CExprPrinter::print_logic(const Expr& e) {
  const ExprId right = e.args[1];
  const Expr& flipped = expr(right).op == KOp::kBroadcast ? expr(expr(right).args[0]) : expr(right);
  if (e.op == KOp::kXor && flipped.op == KOp::kIntConst && flipped.int_value != 0) {
    return {.text = (e.type.lanes == 1 ? "!" : "~") + operand(e.args[0]),
            .level = Level::kUnary,
            .mask_bytes = mask_bytes(e.args[0])};
  }
  if (e.type.lanes == 1) {
    return {.text = operand(e.args[0]) + operator_of(e.op) + operand(right),
            .level = Level::kOther};
  }
  const int bytes = mask_bytes(e.args[0]);
  return {.text = operand(e.args[0]) + operator_of(e.op) + mask(right, bytes),
          .level = Level::kOther,
          .mask_bytes = bytes};
}

// The mask that a comparison gives, `bytes` wide. Of bytes clang makes char, which is not int8_t.
CExprPrinter::Printed CExprPrinter::comparison(std::string text, int bytes, int32_t lanes) {
  if (lanes == 1) return {.text = std::move(text), .level = Level::kOther};
  if (bytes > 1) return {.text = std::move(text), .level = Level::kOther, .mask_bytes = bytes};
  return {.text = "(" + prelude_.types.mask_name(1, lanes) + ")(" + text + ")",
          .level = Level::kUnary,
          .mask_bytes = 1};
}

CExprPrinter::Printed CExprPrinter::print_compare(const Expr& e) {
  const ValueType type = expr(e.args[0]).type;
  return comparison(operand(e.args[0]) + operator_of(e.op) + right_operand(e, Level::kUnary),
                    size_of(type.dtype), type.lanes);
}

CExprPrinter::Printed CExprPrinter::print_select(const Expr& e) {
  if (e.op != KOp::kSelect) {
    const std::string a = atom(e.args[0]);
    const std::string b = atom(e.args[1]);
    return {.text = a + operator_of(e.op) + b + " ? " + a + " : " + b, .level = Level::kOther};
  }
  if (is_mask(e.type)) {
    const std::string condition = atom(e.args[0]);
    const int bytes = mask_bytes(e.args[0]);
    return {.text = "(" + condition + " & " + mask(e.args[1], bytes) + ") | (~" + condition +
                    " & " + mask(e.args[2], bytes) + ")",
            .level = Level::kOther,
            .mask_bytes = bytes};
  }
  const Expr& chooser = expr(e.args[0]);
  const bool is_scalar = chooser.op == KOp::kBroadcast && dialect_.has_scalar_choice();
  const std::string condition = is_scalar           ? operand(chooser.args[0])
                                : e.type.lanes == 1 ? operand(e.args[0])
                                                    : mask(e.args[0], size_of(e.type.dtype));
  return {.text = condition + " ? " + operand(e.args[1]) + " : " + operand(e.args[2]),
          .level = Level::kOther};
}

CExprPrinter::Printed CExprPrinter::print_cast(const Expr& e) {
  const ExprId value = e.args[0];
  const ValueType from = expr(value).type;
  const bool from_bool = from.dtype == DType::kBool;
  if (e.type.dtype == DType::kBool) {
    if (from_bool) return printed(value);
    const std::string zero = base::is_float(from.dtype) ? dialect_.float_literal(0, from.dtype)
                                                        : dialect_.int_literal(0, from.dtype);
    const std::string lanes =
        from.lanes == 1 ? zero : "(" + prelude_.types.name(from) + ")(" + zero + ")";
    return comparison(operand(value) + " != " + lanes, size_of(from.dtype), from.lanes);
  }
  if (!from_bool || e.type.lanes == 1) return converted(value, from, e.type);
  const ValueType mask_type = {mask_dtype(mask_bytes(value)), from.lanes};
  const std::string ones = operand(value) + " & " + constant(mask_type, "1");
  return applied(dialect_.conversion(mask_type, e.type), ones, "(" + ones + ")");
}

CExprPrinter::Printed CExprPrinter::applied(const CFunction& function, const std::string& full,
                                            const std::string& operand) {
  prelude_.helpers.insert(function.declaration);
  if (function.name[0] == '(') return {.text = function.name + operand, .level = Level::kUnary};
  return {.text = function.name + "(" + full + function.last_arguments + ")"};
}

CExprPrinter::Printed CExprPrinter::converted(ExprId id, ValueType from, ValueType to) {
  (void)prelude_.types.name(to);
  return applied(dialect_.conversion(from, to), full(id), operand(id));
}

CExprPrinter::Printed CExprPrinter::print_bitcast(const Expr& e) {
  const ExprId value = e.args[0];
  (void)prelude_.types.name(e.type);
  return applied(dialect_.bitcast(expr(value).type, e.type), full(value), operand(value));
}

}  // namespace camshaft::render
