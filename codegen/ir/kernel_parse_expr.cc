// SPDX-License-Identifier: MIT
#include "codegen/ir/kernel_parse_expr.h"

#include <charconv>
#include <limits>
#include <optional>

#include "codegen/ir/kernel_types.h"
#include "codegen/ir/literal.h"

namespace camshaft::ir {

ArrayId ExprParser::find_array(std::string_view name) {
  const auto found = scope_.arrays.find(name);
  if (found != scope_.arrays.end()) return found->second;
  tokens_.fail("there is no array " + std::string(name));
  return -1;
}

ExprId ExprParser::parse(int binding) {
  ExprId left = parse_operand();
  while (tokens_.ok()) {
    const InfixOp* infix = next_infix();
    if (infix == nullptr || infix->binding < binding) break;
    tokens_.advance();
    const ExprId right = parse(infix->binding + 1);
    const bool compares = infix->binding == infix_of(KOp::kEq)->binding;
    left = node(infix->op, {left, right}, compares);
  }
  return tokens_.ok() ? left : kNoExpr;
}

const InfixOp* ExprParser::next_infix() const {
  if (tokens_.token().kind != TokenKind::kSymbol) return nullptr;
  for (const InfixOp& infix : kInfixOps) {
    if (tokens_.token().text == infix.symbol) return &infix;
  }
  return nullptr;
}

ExprId ExprParser::parse_operand() {
  if (tokens_.accept("(")) {
    if (++nesting_ > kMaxNesting) tokens_.fail("nested too deeply");
    const ExprId inner = parse(0);
    --nesting_;
    tokens_.expect(")");
    return inner;
  }
  if (tokens_.token().kind == TokenKind::kAlias) {
    const auto found = scope_.aliases.find(tokens_.token().text);
    if (found == scope_.aliases.end()) {
      tokens_.fail(std::string(tokens_.token().text) + " is not defined");
    }
    tokens_.advance();
    return tokens_.ok() ? found->second : kNoExpr;
  }
  const bool negative = tokens_.accept("-");
  if (tokens_.token().kind == TokenKind::kNumber) return parse_number(negative);
  const std::string name = tokens_.take_name("an expression");
  if (!tokens_.ok()) return kNoExpr;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const std::string suffix = dtype == DType::kFloat64 ? "_f64" : "";
    const double infinity = std::numeric_limits<double>::infinity();
    if (name == "inf" + suffix) return kernel_.float_const(negative ? -infinity : infinity, dtype);
    if (name == "nan" + suffix && !negative) {
      return kernel_.float_const(std::numeric_limits<double>::quiet_NaN(), dtype);
    }
  }
  if (negative) {
    tokens_.fail("only a number can follow a sign");
    return kNoExpr;
  }
  if (name == "true" || name == "false") return kernel_.int_const(name == "true", DType::kBool);
  return tokens_.is_symbol("(") ? parse_call(name) : parse_var(name);
}

ExprId ExprParser::parse_var(const std::string& name) {
  const auto found = scope_.vars.find(name);
  if (found != scope_.vars.end()) return kernel_.var(found->second);
  tokens_.fail("there is no variable " + name);
  return kNoExpr;
}

ExprId ExprParser::parse_number(bool negative) {
  const Token token = tokens_.take(TokenKind::kNumber, "a number");
  std::string digits = (negative ? "-" : "") + std::string(token.text);
  const size_t suffix = digits.find_first_of("iufb");
  const bool is_float = digits.substr(0, suffix).find_first_of(".e") != std::string::npos;
  DType dtype = is_float ? DType::kFloat32 : DType::kInt64;
  if (suffix != std::string::npos) {
    const std::optional<DType> named = base::dtype_from_name(digits.substr(suffix));
    if (!named) tokens_.fail("'" + digits + "' is no number");
    dtype = named.value_or(dtype);
    digits.resize(suffix);
  }
  return base::is_float(dtype) ? float_number(digits, dtype) : int_number(digits, dtype);
}

ExprId ExprParser::float_number(const std::string& digits, DType dtype) {
  double value = 0;
  // As in print: the shortest digits are those of the format itself.
  const char* const end = digits.data() + digits.size();
  std::from_chars_result result{};
  if (dtype == DType::kFloat32) {
    float narrow = 0;
    result = std::from_chars(digits.data(), end, narrow);
    value = static_cast<double>(narrow);
  } else {
    result = std::from_chars(digits.data(), end, value);
  }
  if (result.ec != std::errc() || result.ptr != end || !is_computed_float(dtype)) {
    tokens_.fail("'" + digits + "' is no " + base::dtype_name(dtype) + " number");
  }
  return tokens_.ok() ? kernel_.float_const(value, dtype) : kNoExpr;
}

ExprId ExprParser::int_number(const std::string& digits, DType dtype) {
  int64_t value = 0;
  uint64_t unsigned_value = 0;
  const char* const end = digits.data() + digits.size();
  const bool wide = dtype == DType::kUInt64;
  const auto result = wide ? std::from_chars(digits.data(), end, unsigned_value)
                           : std::from_chars(digits.data(), end, value);
  if (wide) value = static_cast<int64_t>(unsigned_value);
  if (result.ec != std::errc() || result.ptr != end || dtype == DType::kBool ||
      wrap_to_dtype(value, dtype) != value) {
    tokens_.fail("'" + digits + "' is no " + base::dtype_name(dtype) + " number");
  }
  return tokens_.ok() ? kernel_.int_const(value, dtype) : kNoExpr;
}

ExprId ExprParser::parse_call(const std::string& name) {
  if (++nesting_ > kMaxNesting) tokens_.fail("nested too deeply");
  tokens_.expect("(");
  ExprId result = kNoExpr;
  if (name == "load") {
    result = parse_load();
  } else if (name == "texel") {
    result = parse_texel();
  } else {
    result = parse_op_call(name);
  }
  tokens_.expect(")");
  --nesting_;
  return tokens_.ok() ? result : kNoExpr;
}

ExprId ExprParser::parse_load() {
  Expr load;
  load.op = KOp::kLoad;
  load.array = find_array(tokens_.take_name("an array's name"));
  tokens_.expect(",");
  load.args[0] = parse(0);
  if (!tokens_.ok()) return kNoExpr;
  load.type = {kernel_.array(load.array).dtype, kernel_.expr(load.args[0]).type.lanes};
  if (tokens_.accept(",")) load.type.lanes = tokens_.take_lanes();
  return checked(load);
}

ExprId ExprParser::parse_texel() {
  Expr texel;
  texel.op = KOp::kTexel;
  texel.array = find_array(tokens_.take_name("an image's name"));
  for (ExprId& arg : texel.args) {
    tokens_.expect(",");
    arg = parse(0);
  }
  if (!tokens_.ok()) return kNoExpr;
  const DType dtype = kernel_.array(texel.array).dtype;
  texel.type = {dtype == DType::kFloat16 ? DType::kFloat32 : dtype,
                kernel_.expr(texel.args[2]).type.lanes};
  return checked(texel);
}

ExprId ExprParser::parse_op_call(const std::string& name) {
  int op = static_cast<int>(KOp::kBroadcast);
  while (op < kKOpCount && name != kop_name(static_cast<KOp>(op))) ++op;
  if (op == kKOpCount) {
    tokens_.fail("there is no op " + name);
    return kNoExpr;
  }
  Expr call;
  call.op = static_cast<KOp>(op);
  for (int i = 0; i < kop_arity(call.op) && tokens_.ok(); ++i) {
    if (i > 0) tokens_.expect(",");
    call.args[i] = parse(0);
  }
  if (!tokens_.ok()) return kNoExpr;
  return finish_call(call);
}

ExprId ExprParser::finish_call(Expr call) {
  call.type = kernel_.expr(call.args[call.op == KOp::kSelect ? 1 : 0]).type;
  switch (call.op) {
    case KOp::kBroadcast:
    case KOp::kRamp:
      tokens_.expect(",");
      call.type.lanes = tokens_.take_lanes();
      break;
    case KOp::kCast:
    case KOp::kBitcast:
      tokens_.expect(",");
      call.type.dtype = tokens_.take_dtype();
      break;
    case KOp::kReduceAdd:
    case KOp::kReduceMax:
    case KOp::kReduceMin:
      call.type.lanes = 1;
      break;
    case KOp::kEq:
    case KOp::kLt:
    case KOp::kLe:
      call.type.dtype = DType::kBool;
      break;
    default:
      break;
  }
  return checked(call);
}

ExprId ExprParser::node(KOp op, std::pair<ExprId, ExprId> operands, bool compares) {
  if (!tokens_.ok()) return kNoExpr;
  Expr e;
  e.op = op;
  e.type = kernel_.expr(operands.first).type;
  if (compares) e.type.dtype = DType::kBool;
  e.args[0] = operands.first;
  e.args[1] = operands.second;
  return checked(e);
}

ExprId ExprParser::checked(const Expr& e) {
  if (!tokens_.ok()) return kNoExpr;
  const char* error = expr_type_error(kernel_, e);
  if (error != nullptr) tokens_.fail(std::string(kop_name(e.op)) + ": " + error);
  return tokens_.ok() ? kernel_.intern(e) : kNoExpr;
}

}  // namespace camshaft::ir
