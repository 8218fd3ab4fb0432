// SPDX-License-Identifier: MIT
// Kernels as a C translation unit for clang 19: statements and functions; expressions are in
// c_expr.cc. A kernel becomes two functions: NAME_body, whose parameters are typed and restrict,
// and the exported NAME that unpacks the pointers.
#include <string>
#include <vector>

#include "codegen/render/c_expr.h"
#include "codegen/render/legalize.h"
#include "codegen/render/render.h"
#include "codegen/render/renderable.h"

namespace camshaft::render {

namespace {

using ir::ArrayId;
using ir::DType;
using ir::ExprId;
using ir::Kernel;
using ir::Stmt;
using ir::ValueType;

class KernelPrinter {
 public:
  KernelPrinter(const Kernel& kernel, CPrelude* prelude)
      : kernel_(kernel), types_(prelude->types), printer_(kernel, prelude) {
    collect_uses();
  }

  std::string function() {
    print_head();
    print_locals();
    print_stmts(kernel_.body, 1);
    out_ += "}\n\n";
    print_entry();
    return std::move(out_);
  }

 private:
  void collect_uses();
  void print_head();
  void print_locals();
  void print_entry();
  void print_stmts(const std::vector<Stmt>& body, int depth);
  void print_for(const Stmt& stmt, int depth);
  void print_let(const Stmt& stmt);
  void print_store(const Stmt& stmt, const std::string& indent);
  std::string param_declaration(ArrayId id) const;

  const Kernel& kernel_;
  CTypes& types_;
  CExprPrinter printer_;
  std::vector<bool> is_var_used_;
  std::vector<bool> is_array_used_;
  std::string out_;
};

// clang warns of variables that nothing reads.
void KernelPrinter::collect_uses() {
  is_var_used_.resize(kernel_.vars().size());
  is_array_used_.resize(kernel_.arrays().size());
  StmtOrder order(kernel_);
  for_each_stmt(kernel_.body, [&](const Stmt& stmt) {
    if (stmt.array >= 0) is_array_used_[static_cast<size_t>(stmt.array)] = true;
    for (const ExprId id :
         order.list({stmt.begin, stmt.end, stmt.condition, stmt.index, stmt.value})) {
      const ir::Expr& e = kernel_.expr(id);
      if (e.op == ir::KOp::kVar) is_var_used_[static_cast<size_t>(e.int_value)] = true;
      if (e.op == ir::KOp::kLoad) is_array_used_[static_cast<size_t>(e.array)] = true;
    }
  });
}

// A pair that may be the same memory is not restrict.
std::string KernelPrinter::param_declaration(ArrayId id) const {
  const ir::Array& array = kernel_.array(id);
  bool is_restrict = array.may_alias < 0;
  for (const ir::Array& other : kernel_.arrays()) is_restrict &= other.may_alias != id;
  return std::string(array.writable ? "" : "const ") + c_memory_type(array.dtype) +
         (is_restrict ? "* restrict param " : "* param ") + printer_.array_name(id);
}

void KernelPrinter::print_head() {
  out_ += "static __attribute__((noinline)) void " + kernel_.name + "_body(";
  for (ArrayId id = 0; id < kernel_.param_count(); ++id) out_ += param_declaration(id) + ", ";
  out_ += "int64_t begin, int64_t end) {\n";
}

void KernelPrinter::print_locals() {
  for (ArrayId id = kernel_.param_count(); id < static_cast<ArrayId>(kernel_.arrays().size());
       ++id) {
    const ir::Array& array = kernel_.array(id);
    if (!is_array_used_[static_cast<size_t>(id)]) continue;
    out_ += "  " + std::string(c_memory_type(array.dtype)) + " " + printer_.array_name(id) + "[" +
            std::to_string(array.elements) + "] __attribute__((aligned(64)));\n";
  }
  if (!has_thread_loop(kernel_)) out_ += "  if (begin >= end) return;\n";
}

void KernelPrinter::print_entry() {
  out_ += "void " + kernel_.name + "(void* const* params, int64_t begin, int64_t end) {\n  " +
          kernel_.name + "_body(";
  for (int i = 0; i < kernel_.param_count(); ++i) out_ += "params[" + std::to_string(i) + "], ";
  out_ += "begin, end);\n}\n";
}

void KernelPrinter::print_stmts(const std::vector<Stmt>& body, int depth) {
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  for (const Stmt& stmt : body) {
    const bool is_dead_let =
        stmt.kind == ir::StmtKind::kLet && !is_var_used_[static_cast<size_t>(stmt.var)];
    if (is_dead_let) continue;
    printer_.begin_stmt({stmt.begin, stmt.end, stmt.condition, stmt.index, stmt.value}, indent,
                        &out_);
    switch (stmt.kind) {
      case ir::StmtKind::kFor:
        print_for(stmt, depth);
        break;
      case ir::StmtKind::kIf:
        out_ += indent + "if (" + printer_.full(stmt.condition) + ") {\n";
        print_stmts(stmt.body, depth + 1);
        out_ += indent + "}\n";
        break;
      case ir::StmtKind::kLet:
        out_ += indent;
        print_let(stmt);
        break;
      case ir::StmtKind::kStore:
        print_store(stmt, indent);
        break;
      case ir::StmtKind::kPrefetch:
        out_ += indent + "__builtin_prefetch(&" + printer_.element(stmt.array, stmt.index) +
                ", 0, " + std::to_string(kPrefetchLocality) + ");\n";
        break;
      case ir::StmtKind::kBarrier:
        CAMSHAFT_CHECK(false && "refused by check_renderable");
    }
  }
}

void KernelPrinter::print_for(const Stmt& stmt, int depth) {
  const bool is_thread = stmt.loop == ir::LoopKind::kThread;
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  const std::string& var = printer_.var_name(stmt.var);
  const auto bound = [&](ExprId id) {
    int64_t value = 0;
    return kernel_.is_int_const(id, &value) ? std::to_string(value) : printer_.operand(id);
  };
  // A loop may change what its bounds load, so they are read before it.
  std::string end = is_thread ? "end" : bound(stmt.end);
  if (!is_thread && kernel_.has_load(stmt.end)) end = printer_.atom(stmt.end);
  out_ += indent + "for (int64_t " + var + " = " + (is_thread ? "begin" : bound(stmt.begin)) +
          "; " + var + " < " + end + "; ++" + var + ") {\n";
  print_stmts(stmt.body, depth + 1);
  out_ += indent + "}\n";
}

void KernelPrinter::print_let(const Stmt& stmt) {
  const std::string type = printer_.type_of(stmt.value);
  const ValueType value = kernel_.expr(stmt.value).type;
  if (value.dtype == DType::kBool && value.lanes > 1) {
    printer_.set_var_mask_bytes(stmt.var, stmt.value);
  }
  out_ += "const " + type + " " + printer_.var_name(stmt.var) + " = " + printer_.full(stmt.value) +
          ";\n";
}

void KernelPrinter::print_store(const Stmt& stmt, const std::string& indent) {
  const ValueType value = kernel_.expr(stmt.value).type;
  const ValueType index = kernel_.expr(stmt.index).type;
  if (value.lanes == 1) {
    out_ += indent + printer_.element(stmt.array, stmt.index) + " = " + printer_.full(stmt.value) +
            ";\n";
    return;
  }
  const bool is_bool = value.dtype == DType::kBool;
  const std::string bytes = is_bool ? "(" + types_.name({DType::kUInt8, value.lanes}) + ")(" +
                                          printer_.mask(stmt.value, 1) + " & 1)"
                                    : "";
  if (index.lanes == 1) {
    out_ += indent + "*" + printer_.address(stmt.array, stmt.index, value, false) + " = " +
            (is_bool ? bytes : printer_.full(stmt.value)) + ";\n";
    return;
  }
  const std::string indices = printer_.primary_atom(stmt.index);
  const std::string lanes = is_bool ? "(" + bytes + ")" : printer_.primary_atom(stmt.value);
  for (int lane = 0; lane < value.lanes; ++lane) {
    const std::string subscript = "[" + std::to_string(lane) + "]";
    out_ += indent + printer_.array_name(stmt.array) + "[" + indices + subscript + "] = " + lanes +
            subscript + ";\n";
  }
}

}  // namespace

base::Result<std::string> render_c(const std::vector<Kernel>& kernels, const CpuTarget& target) {
  CAMSHAFT_TRY(check_renderable(kernels, target));
  CPrelude prelude;
  std::string functions;
  for (const Kernel& kernel : kernels) {
    const Kernel legal = legalize_kernel(kernel, target);
    functions += "\n" + KernelPrinter(legal, &prelude).function();
  }
  std::string text = "// For clang 19, " + target.march + ".\n#include <stdbool.h>\n" +
                     "#include <stdint.h>\n\n" +
                     "#define param __attribute__((align_value(64)))\n" + prelude.text();
  return text + functions;
}

}  // namespace camshaft::render
