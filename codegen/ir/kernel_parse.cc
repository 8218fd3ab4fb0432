// SPDX-License-Identifier: MIT
// Text -> kernel. The grammar ({} any number of times, [] at most once, words in quotes as they
// are):
//
//   kernel    = "kernel" STRING "threads" INT "{" {array} {matrix} {statement} "}"
//   array     = "param" NAME ":" DTYPE "[" INT "]" ["image" INT INT INT] ["writable"]
//               ["may_alias" NAME]               an image's width, height and pitch in texels
//             | ("local" | "shared") NAME ":" DTYPE "[" INT "]"
//   matrix    = "matrix" NAME ":" DTYPE "[" INT "," INT "]"        rows, columns
//   statement = "for" NAME "in" expr ".." expr ["range" INT ".." INT] LOOP "{" {statement} "}"
//             | "if" expr "{" {statement} "}"
//             | "let" NAME ":" TYPE "=" expr
//             | "store" "(" NAME "," expr "," expr ")"     array, index, value
//             | "store_texel" "(" NAME "," expr "," expr "," expr ")"   image, x, y, value
//             | "barrier"
//             | "prefetch" "(" NAME "," expr ")"           array, index
//             | "clear_matrix" "(" NAME ")"
//             | ("load_matrix" | "store_matrix") "(" NAME "," NAME "," expr "," INT ")"
//                                                          matrix, array, index, pitch
//             | "multiply_matrices" "(" NAME "," NAME "," NAME ")"   sum, a, b
//             | ALIAS "=" expr                             names an expression: $0, $1, ...
//   LOOP      = "serial" | "unrolled" | "vector" | "thread" | "item"
//   expr      = operands between, from loose to tight: |  ^  &  == < <=  << >>  + -  * / %
//   operand   = "(" expr ")" | ALIAS | NAME | constant | call
//   constant  = "true" | "false" | ["-"] NUMBER | ["-"] "inf" | "nan" | ["-"] "inf_f64" | "nan_f64"
//   call      = "load" "(" NAME "," expr ["," LANES] ")" | "broadcast" "(" expr "," LANES ")"
//             | "texel" "(" NAME "," expr "," expr "," expr ")"         image, x, y, element
//             | "ramp" "(" expr "," expr "," LANES ")"
//             | ("cast" | "bitcast") "(" expr "," DTYPE ")"
//             | any other op's name "(" expr {"," expr} ")"
//
// DTYPE is f32, i64, ...; TYPE is a DTYPE, with lanes f32x8. A number without a dtype behind it is
// i64, or f32 if it has a point or an exponent. "range" gives a loop variable's bounds (inclusive)
// where they are not those of the loop. Expressions are taken as they stand, without
// simplification.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_parse_expr.h"
#include "codegen/ir/kernel_syntax.h"
#include "codegen/ir/kernel_tokens.h"

namespace camshaft::ir {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(text), exprs_(&tokens_, &kernel_, &scope_) {}

  base::Result<Kernel> parse() {
    tokens_.expect_name("kernel");
    kernel_.name =
        std::string(tokens_.take(TokenKind::kString, "the kernel's name in quotes").text);
    tokens_.expect_name("threads");
    kernel_.thread_extent = tokens_.take_int();
    tokens_.expect("{");
    while (tokens_.is_name("param") || tokens_.is_name("local") || tokens_.is_name("shared")) {
      parse_array();
    }
    resolve_aliased_params();
    while (tokens_.accept_name("matrix")) parse_matrix_register();
    kernel_.body = parse_body();
    if (tokens_.token().kind != TokenKind::kEnd) tokens_.fail("text after the kernel's end");
    if (!tokens_.ok()) return tokens_.error();
    return std::move(kernel_);
  }

 private:
  void parse_array() {
    const bool param = tokens_.is_name("param");
    const bool shared = tokens_.is_name("shared");
    tokens_.advance();
    const std::string name = tokens_.take_name("an array's name");
    if (scope_.arrays.count(name) != 0) tokens_.fail("array " + name + " is declared twice");
    tokens_.expect(":");
    const DType dtype = tokens_.take_dtype();
    tokens_.expect("[");
    const int64_t elements = tokens_.take_int();
    tokens_.expect("]");
    ImageShape image;
    if (param && tokens_.accept_name("image")) {
      image.width = tokens_.take_int();
      image.height = tokens_.take_int();
      image.pitch = tokens_.take_int();
    }
    const bool writable = param && tokens_.accept_name("writable");
    if (param && kernel_.param_count() != static_cast<int>(kernel_.arrays().size())) {
      tokens_.fail("parameter " + name + " follows a local array");
    }
    if (!tokens_.ok()) return;
    const ArrayId id = param    ? kernel_.add_param(name, dtype, elements, writable)
                       : shared ? kernel_.add_shared(name, dtype, elements)
                                : kernel_.add_local(name, dtype, elements);
    scope_.arrays[name] = id;
    kernel_.array(id).image = image;
    if (param && tokens_.accept_name("may_alias")) {
      aliased_params_.emplace_back(id, tokens_.take(TokenKind::kName, "an array's name").text);
    }
  }

  void parse_matrix_register() {
    const std::string name = tokens_.take_name("a matrix's name");
    if (matrices_.count(name) != 0) tokens_.fail("matrix " + name + " is declared twice");
    tokens_.expect(":");
    const DType dtype = tokens_.take_dtype();
    tokens_.expect("[");
    const int64_t rows = tokens_.take_int();
    tokens_.expect(",");
    const int64_t columns = tokens_.take_int();
    tokens_.expect("]");
    if (!tokens_.ok()) return;
    const auto bounded = [](int64_t extent) {
      return static_cast<int32_t>(std::clamp<int64_t>(extent, 0, INT16_MAX));
    };
    matrices_[name] = kernel_.add_matrix(name, dtype, bounded(rows), bounded(columns));
  }

  void resolve_aliased_params() {
    for (const auto& [id, name] : aliased_params_) {
      kernel_.array(id).may_alias = exprs_.find_array(name);
    }
  }

  // Statements, up to and with the closing brace. Names are known to the end of their block.
  std::vector<Stmt> parse_body() {
    std::vector<Stmt> body;
    if (++nesting_ > kMaxNesting) tokens_.fail("nested too deeply");
    const auto outer = scope_.vars;
    while (tokens_.ok() && !tokens_.is_symbol("}")) parse_stmt(body);
    tokens_.expect("}");
    scope_.vars = outer;
    --nesting_;
    return body;
  }

  void parse_stmt(std::vector<Stmt>& body) {
    if (tokens_.token().kind == TokenKind::kAlias) {
      const std::string name(tokens_.take(TokenKind::kAlias, "an alias").text);
      tokens_.expect("=");
      scope_.aliases[name] = exprs_.parse();
    } else if (tokens_.accept_name("for")) {
      body.push_back(parse_for());
    } else if (tokens_.accept_name("if")) {
      const ExprId condition = exprs_.parse();
      tokens_.expect("{");
      body.push_back(make_if(condition, parse_body()));
    } else if (tokens_.accept_name("let")) {
      body.push_back(parse_let());
    } else if (tokens_.accept_name("store")) {
      body.push_back(parse_store());
    } else if (tokens_.accept_name("store_texel")) {
      body.push_back(parse_store_texel());
    } else if (tokens_.accept_name("barrier")) {
      body.emplace_back().kind = StmtKind::kBarrier;
    } else if (tokens_.accept_name("prefetch")) {
      body.push_back(parse_prefetch());
    } else if (accept_matrix_op()) {
      body.push_back(parse_matrix());
    } else {
      tokens_.fail("'" + std::string(tokens_.token().text) + "' starts no statement");
    }
  }

  Stmt parse_for() {
    const std::string name = tokens_.take_name("a loop variable");
    tokens_.expect_name("in");
    const ExprId begin = exprs_.parse();
    tokens_.expect("..");
    const ExprId end = exprs_.parse();
    LoopRange range;
    if (tokens_.ok()) range = loop_range(kernel_, begin, end);
    if (tokens_.accept_name("range")) {
      range.lo = tokens_.take_int();
      tokens_.expect("..");
      range.hi = tokens_.take_int();
    }
    const LoopKind kind = take_loop_kind();
    tokens_.expect("{");
    const VarId var = kernel_.add_loop_var(name, range.lo, range.hi);
    const auto outer = scope_.vars;
    scope_.vars[name] = var;
    Stmt stmt = make_for(var, begin, end, kind, parse_body());
    scope_.vars = outer;
    return stmt;
  }

  LoopKind take_loop_kind() {
    const Token name = tokens_.take(TokenKind::kName, "a kind of loop");
    for (int kind = 0; kind < static_cast<int>(std::size(kLoopKindNames)); ++kind) {
      if (name.text == kLoopKindNames[kind]) return static_cast<LoopKind>(kind);
    }
    tokens_.fail("'" + std::string(name.text) + "' is no kind of loop");
    return LoopKind::kSerial;
  }

  Stmt parse_let() {
    const std::string name = tokens_.take_name("a name");
    tokens_.expect(":");
    const ValueType type = tokens_.take_type();
    tokens_.expect("=");
    const ExprId value = exprs_.parse();
    if (!tokens_.ok()) return {};
    if (kernel_.expr(value).type != type) {
      tokens_.fail(name + " is declared " + type_text(type) + " but its value is " +
                   type_text(kernel_.expr(value).type));
    }
    const VarId var = kernel_.add_let_var(name, value);
    scope_.vars[name] = var;
    return make_let(var, value);
  }

  Stmt parse_store() {
    tokens_.expect("(");
    const ArrayId array = exprs_.find_array(tokens_.take_name("an array's name"));
    tokens_.expect(",");
    const ExprId index = exprs_.parse();
    tokens_.expect(",");
    const ExprId value = exprs_.parse();
    tokens_.expect(")");
    return make_store(array, index, value);
  }

  Stmt parse_store_texel() {
    tokens_.expect("(");
    const ArrayId array = exprs_.find_array(tokens_.take_name("an image's name"));
    ExprId args[3] = {};
    for (ExprId& arg : args) {
      tokens_.expect(",");
      arg = exprs_.parse();
    }
    tokens_.expect(")");
    return make_store_texel(array, args[0], args[1], args[2]);
  }

  Stmt parse_prefetch() {
    tokens_.expect("(");
    const ArrayId array = exprs_.find_array(tokens_.take_name("an array's name"));
    tokens_.expect(",");
    const ExprId index = exprs_.parse();
    tokens_.expect(")");
    return make_prefetch(array, index);
  }

  // The op of a statement on matrices goes to matrix_op_.
  bool accept_matrix_op() {
    for (int op = 0; op < static_cast<int>(std::size(kMatrixOpNames)); ++op) {
      matrix_op_ = static_cast<MatrixOp>(op);
      if (tokens_.accept_name(kMatrixOpNames[op])) return true;
    }
    return false;
  }

  MatrixId take_matrix() {
    const std::string name = tokens_.take_name("a matrix's name");
    const auto found = matrices_.find(name);
    if (found == matrices_.end()) tokens_.fail("there is no matrix " + name);
    return found == matrices_.end() ? 0 : found->second;
  }

  Stmt parse_matrix() {
    Stmt stmt;
    stmt.kind = StmtKind::kMatrix;
    stmt.matrix.op = matrix_op_;
    tokens_.expect("(");
    stmt.matrix.matrix = take_matrix();
    if (stmt.matrix.op == MatrixOp::kLoad || stmt.matrix.op == MatrixOp::kStore) {
      tokens_.expect(",");
      stmt.array = exprs_.find_array(tokens_.take_name("an array's name"));
      tokens_.expect(",");
      stmt.index = exprs_.parse();
      tokens_.expect(",");
      stmt.matrix.pitch = tokens_.take_int();
    } else if (stmt.matrix.op == MatrixOp::kMultiply) {
      tokens_.expect(",");
      stmt.matrix.a = take_matrix();
      tokens_.expect(",");
      stmt.matrix.b = take_matrix();
    }
    tokens_.expect(")");
    return stmt;
  }

  TokenReader tokens_;
  Kernel kernel_;
  KernelScope scope_;
  ExprParser exprs_;
  std::vector<std::pair<ArrayId, std::string_view>> aliased_params_;
  std::map<std::string, MatrixId> matrices_;
  MatrixOp matrix_op_ = MatrixOp::kClear;
  int nesting_ = 0;
};

}  // namespace

base::Result<Kernel> parse_kernel(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace camshaft::ir
