// SPDX-License-Identifier: MIT
// Kernel -> text; the grammar is at the top of kernel_parse.cc. Everything is decided by the
// structure of the kernel, never by ids, so that printing what was parsed gives the same text.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_rewrite.h"
#include "codegen/ir/kernel_syntax.h"

namespace camshaft::ir {
namespace {

// An expression used twice or more in a statement gets a line of its own ($0 = ...) from this many
// nodes on, and so does one nested deeper than this: text stays short, and nothing recurses deeply.
constexpr int kAliasSize = 8;
constexpr int kAliasDepth = 48;

// Distinct identifiers, close to the names asked for.
class NameTable {
 public:
  void add(std::string_view wanted) {
    std::string name;
    for (const char c : wanted) name += is_name_char(c) ? c : '_';
    if (name.empty() || is_digit(name[0]) || is_reserved_word(name)) name = "_" + name;
    std::string unique = name;
    for (int i = 1; !taken_.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
    names_.push_back(unique);
  }
  const std::string& operator[](int i) const { return names_[static_cast<size_t>(i)]; }

 private:
  std::vector<std::string> names_;
  std::unordered_set<std::string> taken_;
};

template <typename T>
std::string shortest(T value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end.ptr);
}

std::string float_text(double value, DType dtype) {
  const bool wide = dtype == DType::kFloat64;
  if (std::isnan(value)) return wide ? "nan_f64" : "nan";
  if (std::isinf(value)) return std::string(value < 0 ? "-" : "") + (wide ? "inf_f64" : "inf");
  std::string text = wide ? shortest(value) : shortest(static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return wide ? text + "f64" : text;
}

std::string int_text(int64_t value, DType dtype) {
  if (dtype == DType::kBool) return value != 0 ? "true" : "false";
  if (dtype == DType::kInt64) return std::to_string(value);
  const std::string digits = dtype == DType::kUInt64 ? std::to_string(static_cast<uint64_t>(value))
                                                     : std::to_string(value);
  return digits + base::dtype_name(dtype);
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel)
      : kernel_(kernel), info_(static_cast<size_t>(kernel.expr_count())) {
    for (const Array& array : kernel.arrays()) arrays_.add(array.name);
    for (const Matrix& matrix : kernel.matrices()) matrices_.add(matrix.name);
    for (const Var& var : kernel.vars()) vars_.add(var.name);
  }

  std::string print() {
    out_ =
        "kernel \"" + kernel_.name + "\" threads " + std::to_string(kernel_.thread_extent) + " {\n";
    for (ArrayId id = 0; id < static_cast<ArrayId>(kernel_.arrays().size()); ++id) print_array(id);
    for (MatrixId id = 0; id < static_cast<MatrixId>(kernel_.matrices().size()); ++id) {
      const Matrix& matrix = kernel_.matrix(id);
      out_ += "  matrix " + matrices_[id] + ": " + base::dtype_name(matrix.dtype) + "[" +
              std::to_string(matrix.rows) + ", " + std::to_string(matrix.columns) + "]\n";
    }
    print_body(kernel_.body, 1);
    return std::move(out_) + "}\n";
  }

 private:
  struct Info {
    int uses = 0;
    int size = 1;   // nodes printed in its place
    int depth = 0;  // of the tree printed in its place
    int alias = -1;
    bool wants_alias = false;
  };
  Info& info(ExprId id) { return info_[static_cast<size_t>(id)]; }

  void print_array(ArrayId id) {
    const Array& array = kernel_.array(id);
    out_ += array.kind == ArrayKind::kParam   ? "  param "
            : array.kind == ArrayKind::kLocal ? "  local "
                                              : "  shared ";
    out_ += arrays_[id] + ": " + base::dtype_name(array.dtype) + "[" +
            std::to_string(array.elements) + "]";
    if (array.is_image()) {
      out_ += " image " + std::to_string(array.image.width) + " " +
              std::to_string(array.image.height) + " " + std::to_string(array.image.pitch);
    }
    if (array.kind == ArrayKind::kParam && array.writable) out_ += " writable";
    if (array.may_alias >= 0) out_ += " may_alias " + arrays_[array.may_alias];
    out_ += "\n";
  }

  void print_body(const std::vector<Stmt>& body, int level) {
    for (const Stmt& stmt : body) print_stmt(stmt, level);
  }

  void print_stmt(const Stmt& stmt, int level) {
    const std::string indent(static_cast<size_t>(level) * 2, ' ');
    const std::vector<ExprId> roots = exprs_of(stmt);
    const std::vector<ExprId> used = reachable_exprs(kernel_, roots);
    plan_aliases(used, roots);
    print_aliases(roots, indent);
    out_ += indent;
    switch (stmt.kind) {
      case StmtKind::kFor:
        print_for(stmt);
        break;
      case StmtKind::kIf:
        out_ += "if " + text(stmt.condition, 0);
        break;
      case StmtKind::kLet:
        out_ += "let " + vars_[stmt.var] + ": " + type_text(kernel_.var_info(stmt.var).type) +
                " = " + text(stmt.value, 0);
        break;
      case StmtKind::kStore:
        out_ += "store(" + arrays_[stmt.array] + ", " + text(stmt.index, 0) + ", " +
                text(stmt.value, 0) + ")";
        break;
      case StmtKind::kStoreTexel:
        out_ += "store_texel(" + arrays_[stmt.array] + ", " + text(stmt.index, 0) + ", " +
                text(stmt.row, 0) + ", " + text(stmt.value, 0) + ")";
        break;
      case StmtKind::kBarrier:
        out_ += "barrier";
        break;
      case StmtKind::kPrefetch:
        out_ += "prefetch(" + arrays_[stmt.array] + ", " + text(stmt.index, 0) + ")";
        break;
      case StmtKind::kMatrix:
        print_matrix(stmt);
        break;
    }
    if (stmt.kind == StmtKind::kFor || stmt.kind == StmtKind::kIf) {
      out_ += " {\n";
      print_body(stmt.body, level + 1);
      out_ += indent + "}";
    }
    out_ += "\n";
  }

  void print_for(const Stmt& stmt) {
    const Var& var = kernel_.var_info(stmt.var);
    out_ += "for " + vars_[stmt.var] + " in " + text(stmt.begin, 0) + ".." + text(stmt.end, 0);
    if (const LoopRange implied = loop_range(kernel_, stmt.begin, stmt.end);
        var.lo != implied.lo || var.hi != implied.hi) {
      out_ += " range " + std::to_string(var.lo) + ".." + std::to_string(var.hi);
    }
    out_ += std::string(" ") + loop_kind_name(stmt.loop);
  }

  void print_matrix(const Stmt& stmt) {
    const MatrixStep& step = stmt.matrix;
    out_ += std::string(kMatrixOpNames[static_cast<int>(step.op)]) + "(" + matrices_[step.matrix];
    if (step.op == MatrixOp::kLoad || step.op == MatrixOp::kStore) {
      out_ += ", " + arrays_[stmt.array] + ", " + text(stmt.index, 0) + ", " +
              std::to_string(step.pitch);
    } else if (step.op == MatrixOp::kMultiply) {
      out_ += ", " + matrices_[step.a] + ", " + matrices_[step.b];
    }
    out_ += ")";
  }

  // Counts uses within one statement, then decides from the leaves up.
  void plan_aliases(const std::vector<ExprId>& used, const std::vector<ExprId>& roots) {
    for (const ExprId id : used) info(id) = Info();
    for (const ExprId id : roots) {
      if (id != kNoExpr) ++info(id).uses;
    }
    for (const ExprId id : used) {
      for (const ExprId arg : kernel_.expr(id).args) {
        if (arg != kNoExpr) ++info(arg).uses;
      }
    }
    for (const ExprId id : used) {
      Info& node = info(id);
      for (const ExprId arg : kernel_.expr(id).args) {
        if (arg == kNoExpr) continue;
        const Info& operand = info(arg);
        node.size += operand.wants_alias ? 1 : operand.size;
        node.depth = std::max(node.depth, operand.wants_alias ? 0 : operand.depth + 1);
      }
      node.wants_alias = (node.uses > 1 && node.size >= kAliasSize) || node.depth >= kAliasDepth;
    }
  }

  // In the order in which a reader meets the operands, each before its first use.
  void print_aliases(const std::vector<ExprId>& roots, const std::string& indent) {
    std::unordered_set<ExprId> done;
    std::vector<std::pair<ExprId, bool>> pending;
    for (auto root = roots.rbegin(); root != roots.rend(); ++root)
      pending.push_back({*root, false});
    while (!pending.empty()) {
      const auto [id, operands_done] = pending.back();
      pending.pop_back();
      if (id == kNoExpr) continue;
      if (operands_done) {
        if (!info(id).wants_alias) continue;
        const std::string value = text_of(id, 0);
        info(id).alias = next_alias_++;
        out_ += indent + "$" + std::to_string(info(id).alias) + " = " + value + "\n";
        continue;
      }
      if (!done.insert(id).second) continue;
      pending.push_back({id, true});
      for (int i = 2; i >= 0; --i) pending.push_back({kernel_.expr(id).args[i], false});
    }
  }

  // The text of an expression where operators that bind less than `binding` need parentheses.
  std::string text(ExprId id, int binding) {
    if (info(id).alias >= 0) return "$" + std::to_string(info(id).alias);
    return text_of(id, binding);
  }

  std::string text_of(ExprId id, int binding) {
    const Expr& e = kernel_.expr(id);
    if (e.op == KOp::kIntConst) return int_text(e.int_value, e.type.dtype);
    if (e.op == KOp::kFloatConst) return float_text(e.float_value, e.type.dtype);
    if (e.op == KOp::kVar) return vars_[static_cast<int>(e.int_value)];
    if (const InfixOp* infix = infix_of(e.op); infix != nullptr) {
      const std::string inner = text(e.args[0], infix->binding) + " " + infix->symbol + " " +
                                text(e.args[1], infix->binding + 1);
      return infix->binding < binding ? "(" + inner + ")" : inner;
    }
    std::string call = std::string(kop_name(e.op)) + "(";
    if (e.op == KOp::kLoad || e.op == KOp::kTexel) call += arrays_[e.array] + ", ";
    for (int i = 0; i < kop_arity(e.op); ++i) {
      if (i > 0) call += ", ";
      call += text(e.args[i], 0);
    }
    return call + call_suffix(e) + ")";
  }

  // What the operands do not say: a lane count or a dtype.
  std::string call_suffix(const Expr& e) const {
    const bool dense = e.op == KOp::kLoad && e.type.lanes != kernel_.expr(e.args[0]).type.lanes;
    if (e.op == KOp::kBroadcast || e.op == KOp::kRamp || dense) {
      return ", " + std::to_string(e.type.lanes);
    }
    if (e.op == KOp::kCast || e.op == KOp::kBitcast) {
      return std::string(", ") + base::dtype_name(e.type.dtype);
    }
    return "";
  }

  const Kernel& kernel_;
  NameTable arrays_;
  NameTable matrices_;
  NameTable vars_;
  std::vector<Info> info_;  // by ExprId; valid for the statement being printed
  int next_alias_ = 0;
  std::string out_;
};

}  // namespace

std::string print_kernel(const Kernel& kernel) {
  return Printer(kernel).print();
}

}  // namespace camshaft::ir
