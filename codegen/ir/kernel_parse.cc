// SPDX-License-Identifier: MIT
// Text -> kernel. The grammar ({} any number of times, [] at most once, words in quotes as they
// are):
//
//   kernel    = "kernel" STRING "threads" INT "{" {array} {statement} "}"
//   array     = "param" NAME ":" DTYPE "[" INT "]" ["writable"] ["may_alias" NAME]
//             | "local" NAME ":" DTYPE "[" INT "]"
//   statement = "for" NAME "in" expr ".." expr ["range" INT ".." INT] LOOP "{" {statement} "}"
//             | "if" expr "{" {statement} "}"
//             | "let" NAME ":" TYPE "=" expr
//             | "store" "(" NAME "," expr "," expr ")"     array, index, value
//             | "barrier"
//             | ALIAS "=" expr                             names an expression: $0, $1, ...
//   LOOP      = "serial" | "unrolled" | "vector" | "thread" | "group" | "local"
//   expr      = operands between, from loose to tight: |  ^  &  == < <=  << >>  + -  * / %
//   operand   = "(" expr ")" | ALIAS | NAME | constant | call
//   constant  = "true" | "false" | ["-"] NUMBER | ["-"] "inf" | "nan" | ["-"] "inf_f64" | "nan_f64"
//   call      = "load" "(" NAME "," expr ["," LANES] ")" | "broadcast" "(" expr "," LANES ")"
//             | "ramp" "(" expr "," expr "," LANES ")"
//             | ("cast" | "bitcast") "(" expr "," DTYPE ")"
//             | any other op's name "(" expr {"," expr} ")"
//
// DTYPE is f32, i64, ...; TYPE is a DTYPE, with lanes f32x8. A number without a dtype behind it is
// i64, or f32 if it has a point or an exponent. "range" gives a loop variable's bounds (inclusive)
// where they are not those of the loop. Expressions are taken as they stand, without
// simplification.
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_lexer.h"
#include "codegen/ir/kernel_syntax.h"
#include "codegen/ir/kernel_types.h"
#include "codegen/ir/literal.h"

namespace camshaft::ir {
namespace {

using base::Code;
using base::Status;

constexpr int kMaxNesting = 200;  // of statements and parentheses; the parser recurses

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { advance(); }

  base::Result<Kernel> parse() {
    expect_name("kernel");
    kernel_.name = std::string(take(TokenKind::kString, "the kernel's name in quotes").text);
    expect_name("threads");
    kernel_.thread_extent = take_int();
    expect("{");
    while (ok() && (is_name("param") || is_name("local"))) parse_array();
    resolve_aliased_params();
    kernel_.body = parse_body();
    if (ok() && token_.kind != TokenKind::kEnd) fail("text after the kernel's end");
    if (!ok()) return error_;
    return std::move(kernel_);
  }

 private:
  bool ok() const { return error_.is_ok(); }
  void fail(const std::string& problem) {
    if (!ok()) return;  // the first problem counts
    error_ = base::fail(Code::kInvalidArgument, "kernel.parse", "kernel text, line %d: %s",
                        token_.line, problem.c_str());
  }

  // Tokens. After a failure they all are the end, so that every loop ends.
  void advance() { token_ = ok() ? lexer_.next() : Token{}; }
  bool is_symbol(std::string_view text) const {
    return token_.kind == TokenKind::kSymbol && token_.text == text;
  }
  bool is_name(std::string_view text) const {
    return token_.kind == TokenKind::kName && token_.text == text;
  }
  Token take(TokenKind kind, const char* what) {
    if (token_.kind != kind) {
      fail(std::string("expected ") + what + ", found '" + std::string(token_.text) + "'");
    }
    const Token taken = ok() ? token_ : Token{};
    advance();
    return taken;
  }
  void expect(std::string_view symbol) {
    if (!is_symbol(symbol)) {
      fail("expected '" + std::string(symbol) + "', found '" + std::string(token_.text) + "'");
    }
    advance();
  }
  bool accept(std::string_view symbol) {
    if (!ok() || !is_symbol(symbol)) return false;
    advance();
    return true;
  }
  void expect_name(std::string_view name) {
    if (!is_name(name)) {
      fail("expected '" + std::string(name) + "', found '" + std::string(token_.text) + "'");
    }
    advance();
  }
  bool accept_name(std::string_view name) {
    if (!ok() || !is_name(name)) return false;
    advance();
    return true;
  }

  int64_t take_int() {
    const bool negative = accept("-");
    const Token number = take(TokenKind::kNumber, "an integer");
    const std::string text = (negative ? "-" : "") + std::string(number.text);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ok() && (error != std::errc() || end != text.data() + text.size())) {
      fail("'" + text + "' is no 64-bit integer");
    }
    return value;
  }
  DType take_dtype() {
    const Token name = take(TokenKind::kName, "a dtype");
    const std::optional<DType> dtype = base::dtype_from_name(name.text);
    if (!dtype) fail("'" + std::string(name.text) + "' is no dtype");
    return dtype.value_or(DType::kFloat32);
  }
  int32_t take_lanes() {
    const int64_t lanes = take_int();
    if (lanes < 2 || lanes > kMaxLanes || !is_valid_lanes(static_cast<int32_t>(lanes))) {
      fail("lanes are a power of two from 2 to 64");
      return 2;
    }
    return static_cast<int32_t>(lanes);
  }
  ValueType take_type() {
    const std::string text(take(TokenKind::kName, "a type").text);
    const size_t x = text.find('x');
    ValueType type;
    const std::optional<DType> dtype = base::dtype_from_name(text.substr(0, x));
    if (dtype) type.dtype = *dtype;
    bool valid = dtype.has_value();
    if (x != std::string::npos) {
      const char* const end = text.data() + text.size();
      const auto result = std::from_chars(text.data() + x + 1, end, type.lanes);
      valid = valid && result.ec == std::errc() && result.ptr == end && type.lanes > 1 &&
              is_valid_lanes(type.lanes);
    }
    if (!valid) fail("'" + text + "' is no type");
    return type;
  }

  // Arrays.
  void parse_array() {
    const bool param = is_name("param");
    advance();
    const std::string name(take(TokenKind::kName, "an array's name").text);
    if (arrays_.count(name) != 0) fail("array " + name + " is declared twice");
    expect(":");
    const DType dtype = take_dtype();
    expect("[");
    const int64_t elements = take_int();
    expect("]");
    const bool writable = param && accept_name("writable");
    if (param && kernel_.param_count() != static_cast<int>(kernel_.arrays().size())) {
      fail("parameter " + name + " follows a local array");
    }
    if (!ok()) return;
    const ArrayId id = param ? kernel_.add_param(name, dtype, elements, writable)
                             : kernel_.add_local(name, dtype, elements);
    arrays_[name] = id;
    if (param && accept_name("may_alias")) {
      aliased_params_.emplace_back(id, take(TokenKind::kName, "an array's name").text);
    }
  }
  void resolve_aliased_params() {
    for (const auto& [id, name] : aliased_params_) kernel_.array(id).may_alias = find_array(name);
  }
  ArrayId find_array(std::string_view name) {
    const auto found = arrays_.find(std::string(name));
    if (found != arrays_.end()) return found->second;
    fail("there is no array " + std::string(name));
    return -1;
  }
  ArrayId take_array() { return find_array(take(TokenKind::kName, "an array's name").text); }

  // Statements, up to and with the closing brace. Names are known to the end of their block.
  std::vector<Stmt> parse_body() {
    std::vector<Stmt> body;
    if (++nesting_ > kMaxNesting) fail("nested too deeply");
    const std::map<std::string, VarId, std::less<>> outer = vars_;
    while (ok() && !is_symbol("}")) parse_stmt(body);
    expect("}");
    vars_ = outer;
    --nesting_;
    return body;
  }

  void parse_stmt(std::vector<Stmt>& body) {
    if (token_.kind == TokenKind::kAlias) {
      const std::string name(take(TokenKind::kAlias, "an alias").text);
      expect("=");
      aliases_[name] = parse_expr(0);
    } else if (accept_name("for")) {
      body.push_back(parse_for());
    } else if (accept_name("if")) {
      const ExprId condition = parse_expr(0);
      expect("{");
      body.push_back(make_if(condition, parse_body()));
    } else if (accept_name("let")) {
      body.push_back(parse_let());
    } else if (accept_name("store")) {
      body.push_back(parse_store());
    } else if (accept_name("barrier")) {
      body.emplace_back().kind = StmtKind::kBarrier;
    } else {
      fail("'" + std::string(token_.text) + "' starts no statement");
    }
  }

  Stmt parse_for() {
    const std::string name(take(TokenKind::kName, "a loop variable").text);
    expect_name("in");
    const ExprId begin = parse_expr(0);
    expect("..");
    const ExprId end = parse_expr(0);
    LoopRange range;
    if (ok()) range = loop_range(kernel_, begin, end);
    if (accept_name("range")) {
      range.lo = take_int();
      expect("..");
      range.hi = take_int();
    }
    const LoopKind kind = take_loop_kind();
    expect("{");
    const VarId var = kernel_.add_loop_var(name, range.lo, range.hi);
    const auto outer = vars_;
    vars_[name] = var;
    Stmt stmt = make_for(var, begin, end, kind, parse_body());
    vars_ = outer;
    return stmt;
  }

  LoopKind take_loop_kind() {
    const Token name = take(TokenKind::kName, "a kind of loop");
    for (int kind = 0; kind < static_cast<int>(std::size(kLoopKindNames)); ++kind) {
      if (name.text == kLoopKindNames[kind]) return static_cast<LoopKind>(kind);
    }
    fail("'" + std::string(name.text) + "' is no kind of loop");
    return LoopKind::kSerial;
  }

  Stmt parse_let() {
    const std::string name(take(TokenKind::kName, "a name").text);
    expect(":");
    const ValueType type = take_type();
    expect("=");
    const ExprId value = parse_expr(0);
    if (!ok()) return {};
    if (kernel_.expr(value).type != type) {
      fail(name + " is declared " + type_text(type) + " but its value is " +
           type_text(kernel_.expr(value).type));
    }
    const VarId var = kernel_.add_let_var(name, value);
    vars_[name] = var;
    return make_let(var, value);
  }

  Stmt parse_store() {
    expect("(");
    const ArrayId array = take_array();
    expect(",");
    const ExprId index = parse_expr(0);
    expect(",");
    const ExprId value = parse_expr(0);
    expect(")");
    return make_store(array, index, value);
  }

  // Expressions. A failed one is kNoExpr, and then ok() is false.
  ExprId parse_expr(int binding) {
    ExprId left = parse_operand();
    while (ok()) {
      const InfixOp* infix = next_infix();
      if (infix == nullptr || infix->binding < binding) break;
      advance();
      const ExprId right = parse_expr(infix->binding + 1);
      const bool compares = infix->binding == infix_of(KOp::kEq)->binding;
      left = node(infix->op, {left, right}, compares);
    }
    return ok() ? left : kNoExpr;
  }

  const InfixOp* next_infix() const {
    if (token_.kind != TokenKind::kSymbol) return nullptr;
    for (const InfixOp& infix : kInfixOps) {
      if (token_.text == infix.symbol) return &infix;
    }
    return nullptr;
  }

  ExprId parse_operand() {
    if (accept("(")) {
      if (++nesting_ > kMaxNesting) fail("nested too deeply");
      const ExprId inner = parse_expr(0);
      --nesting_;
      expect(")");
      return inner;
    }
    if (token_.kind == TokenKind::kAlias) {
      const auto found = aliases_.find(token_.text);
      if (found == aliases_.end()) fail(std::string(token_.text) + " is not defined");
      advance();
      return ok() ? found->second : kNoExpr;
    }
    const bool negative = accept("-");
    if (token_.kind == TokenKind::kNumber) return parse_number(negative);
    const std::string name(take(TokenKind::kName, "an expression").text);
    if (!ok()) return kNoExpr;
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const std::string suffix = dtype == DType::kFloat64 ? "_f64" : "";
      const double infinity = std::numeric_limits<double>::infinity();
      if (name == "inf" + suffix)
        return kernel_.float_const(negative ? -infinity : infinity, dtype);
      if (name == "nan" + suffix && !negative) {
        return kernel_.float_const(std::numeric_limits<double>::quiet_NaN(), dtype);
      }
    }
    if (negative) {
      fail("only a number can follow a sign");
      return kNoExpr;
    }
    if (name == "true" || name == "false") return kernel_.int_const(name == "true", DType::kBool);
    return is_symbol("(") ? parse_call(name) : parse_var(name);
  }

  ExprId parse_var(const std::string& name) {
    const auto found = vars_.find(name);
    if (found != vars_.end()) return kernel_.var(found->second);
    fail("there is no variable " + name);
    return kNoExpr;
  }

  ExprId parse_number(bool negative) {
    const Token token = take(TokenKind::kNumber, "a number");
    std::string digits = (negative ? "-" : "") + std::string(token.text);
    const size_t suffix = digits.find_first_of("iufb");
    const bool is_float = digits.substr(0, suffix).find_first_of(".e") != std::string::npos;
    DType dtype = is_float ? DType::kFloat32 : DType::kInt64;
    if (suffix != std::string::npos) {
      const std::optional<DType> named = base::dtype_from_name(digits.substr(suffix));
      if (!named) fail("'" + digits + "' is no number");
      dtype = named.value_or(dtype);
      digits.resize(suffix);
    }
    return base::is_float(dtype) ? float_number(digits, dtype) : int_number(digits, dtype);
  }

  ExprId float_number(const std::string& digits, DType dtype) {
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
      fail("'" + digits + "' is no " + base::dtype_name(dtype) + " number");
    }
    return ok() ? kernel_.float_const(value, dtype) : kNoExpr;
  }

  ExprId int_number(const std::string& digits, DType dtype) {
    int64_t value = 0;
    uint64_t unsigned_value = 0;
    const char* const end = digits.data() + digits.size();
    const bool wide = dtype == DType::kUInt64;
    const auto result = wide ? std::from_chars(digits.data(), end, unsigned_value)
                             : std::from_chars(digits.data(), end, value);
    if (wide) value = static_cast<int64_t>(unsigned_value);
    if (result.ec != std::errc() || result.ptr != end || dtype == DType::kBool ||
        wrap_to_dtype(value, dtype) != value) {
      fail("'" + digits + "' is no " + base::dtype_name(dtype) + " number");
    }
    return ok() ? kernel_.int_const(value, dtype) : kNoExpr;
  }

  ExprId parse_call(const std::string& name) {
    if (++nesting_ > kMaxNesting) fail("nested too deeply");
    expect("(");
    ExprId result = kNoExpr;
    if (name == "load") {
      result = parse_load();
    } else {
      result = parse_op_call(name);
    }
    expect(")");
    --nesting_;
    return ok() ? result : kNoExpr;
  }

  ExprId parse_load() {
    Expr load;
    load.op = KOp::kLoad;
    load.array = take_array();
    expect(",");
    load.args[0] = parse_expr(0);
    if (!ok()) return kNoExpr;
    load.type = {kernel_.array(load.array).dtype, kernel_.expr(load.args[0]).type.lanes};
    if (accept(",")) load.type.lanes = take_lanes();
    return checked(load);
  }

  ExprId parse_op_call(const std::string& name) {
    int op = static_cast<int>(KOp::kBroadcast);
    while (op < kKOpCount && name != kop_name(static_cast<KOp>(op))) ++op;
    if (op == kKOpCount) {
      fail("there is no op " + name);
      return kNoExpr;
    }
    Expr call;
    call.op = static_cast<KOp>(op);
    for (int i = 0; i < kop_arity(call.op) && ok(); ++i) {
      if (i > 0) expect(",");
      call.args[i] = parse_expr(0);
    }
    if (!ok()) return kNoExpr;
    return finish_call(call);
  }

  // The operands are there: derives the type, reading what they do not say.
  ExprId finish_call(Expr call) {
    call.type = kernel_.expr(call.args[call.op == KOp::kSelect ? 1 : 0]).type;
    switch (call.op) {
      case KOp::kBroadcast:
      case KOp::kRamp:
        expect(",");
        call.type.lanes = take_lanes();
        break;
      case KOp::kCast:
      case KOp::kBitcast:
        expect(",");
        call.type.dtype = take_dtype();
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

  ExprId node(KOp op, std::pair<ExprId, ExprId> operands, bool compares) {
    if (!ok()) return kNoExpr;
    Expr e;
    e.op = op;
    e.type = kernel_.expr(operands.first).type;
    if (compares) e.type.dtype = DType::kBool;
    e.args[0] = operands.first;
    e.args[1] = operands.second;
    return checked(e);
  }

  ExprId checked(const Expr& e) {
    if (!ok()) return kNoExpr;
    const char* error = expr_type_error(kernel_, e);
    if (error != nullptr) fail(std::string(kop_name(e.op)) + ": " + error);
    return ok() ? kernel_.intern(e) : kNoExpr;
  }

  KernelLexer lexer_;
  Token token_;
  Status error_;
  Kernel kernel_;
  std::map<std::string, ArrayId> arrays_;
  std::vector<std::pair<ArrayId, std::string_view>> aliased_params_;
  std::map<std::string, VarId, std::less<>> vars_;
  std::map<std::string, ExprId, std::less<>> aliases_;
  int nesting_ = 0;
};

}  // namespace

base::Result<Kernel> parse_kernel(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace camshaft::ir
