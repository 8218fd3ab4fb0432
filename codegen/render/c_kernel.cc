// SPDX-License-Identifier: MIT
#include "codegen/render/c_kernel.h"

#include "codegen/ir/kernel_rewrite.h"

namespace camshaft::render {

using ir::ArrayId;
using ir::DType;
using ir::ExprId;
using ir::Kernel;
using ir::Stmt;
using ir::ValueType;

CKernelPrinter::CKernelPrinter(const Kernel& kernel, CPrelude* prelude)
    : kernel_(kernel),
      dialect_(prelude->dialect),
      types_(prelude->types),
      printer_(kernel, prelude) {
  collect_uses();
}

std::string CKernelPrinter::function() {
  print_head();
  print_locals();
  print_stmts(kernel_.body, 1);
  print_tail();
  out_ += "}\n";
  print_end();
  return std::move(out_);
}

// clang warns of variables that nothing reads.
void CKernelPrinter::collect_uses() {
  is_var_used_.resize(kernel_.vars().size());
  is_array_used_.resize(kernel_.arrays().size());
  StmtOrder order(kernel_);
  for_each_stmt(kernel_.body, [&](const Stmt& stmt) {
    if (stmt.array >= 0) is_array_used_[static_cast<size_t>(stmt.array)] = true;
    for (const ExprId id : order.list(ir::exprs_of(stmt))) {
      const ir::Expr& e = kernel_.expr(id);
      if (e.op == ir::KOp::kVar) is_var_used_[static_cast<size_t>(e.int_value)] = true;
      if (e.array >= 0) is_array_used_[static_cast<size_t>(e.array)] = true;
    }
  });
}

const char* CKernelPrinter::restrict_word(ArrayId id) const {
  bool is_restrict = kernel_.array(id).may_alias < 0;
  for (const ir::Array& other : kernel_.arrays()) is_restrict &= other.may_alias != id;
  return is_restrict ? "restrict " : "";
}

void CKernelPrinter::print_locals() {
  for (ArrayId id = kernel_.param_count(); id < static_cast<ArrayId>(kernel_.arrays().size());
       ++id) {
    const ir::Array& array = kernel_.array(id);
    if (!is_array_used_[static_cast<size_t>(id)] || array.kind == ir::ArrayKind::kShared) continue;
    out_ += "  " + std::string(element_type(id)) + " " + printer_.array_name(id) + "[" +
            std::to_string(array.elements) + "] __attribute__((aligned(64)));\n";
  }
}

void CKernelPrinter::print_stmts(const std::vector<Stmt>& body, int depth) {
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  for (const Stmt& stmt : body) {
    const bool is_dead_let =
        stmt.kind == ir::StmtKind::kLet && !is_var_used_[static_cast<size_t>(stmt.var)];
    if (is_dead_let) continue;
    printer_.begin_stmt(ir::exprs_of(stmt), indent, &out_);
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
      case ir::StmtKind::kStoreTexel:
        out_ += indent + printer_.store_texel(stmt.array, stmt.index, stmt.row, stmt.value) + ";\n";
        break;
      case ir::StmtKind::kPrefetch:
        print_prefetch(printer_.element(stmt.array, stmt.index, /*is_address=*/true), indent);
        break;
      case ir::StmtKind::kMatrix:
        print_matrix(
            stmt,
            stmt.array < 0 ? "" : printer_.element(stmt.array, stmt.index, /*is_address=*/true),
            indent);
        break;
      case ir::StmtKind::kBarrier:
        print_barrier(indent);
        break;
    }
  }
}

void CKernelPrinter::print_matrix(const Stmt&, const std::string&, const std::string&) {
  CAMSHAFT_CHECK(false && "refused by check_renderable");
}

void CKernelPrinter::print_for(const Stmt& stmt, int depth) {
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  if (stmt.loop == ir::LoopKind::kThread) {
    print_thread_loop(stmt, indent);
  } else if (stmt.loop == ir::LoopKind::kItem) {
    print_item_loop(stmt, indent);
  } else {
    const std::string& var = printer_.var_name(stmt.var);
    const auto bound = [&](ExprId id) {
      int64_t value = 0;
      return kernel_.is_int_const(id, &value) ? std::to_string(value) : printer_.operand(id);
    };
    // A loop may change what its bounds load, so they are read before it.
    const std::string end = kernel_.has_load(stmt.end) ? printer_.atom(stmt.end) : bound(stmt.end);
    out_ += indent + "for (" + dialect_.scalar_type(DType::kInt64) + " " + var + " = " +
            bound(stmt.begin) + "; " + var + " < " + end + "; ++" + var + ") {\n";
  }
  print_stmts(stmt.body, depth + 1);
  out_ += indent + "}\n";
}

void CKernelPrinter::print_let(const Stmt& stmt) {
  const std::string type = printer_.type_of(stmt.value);
  const ValueType value = kernel_.expr(stmt.value).type;
  if (value.dtype == DType::kBool && value.lanes > 1) {
    printer_.set_var_mask_bytes(stmt.var, stmt.value);
  }
  out_ += "const " + type + " " + printer_.var_name(stmt.var) + " = " + printer_.full(stmt.value) +
          ";\n";
}

void CKernelPrinter::print_store(const Stmt& stmt, const std::string& indent) {
  const ValueType value = kernel_.expr(stmt.value).type;
  const ValueType index = kernel_.expr(stmt.index).type;
  if (value.lanes == 1) {
    out_ += indent + printer_.element(stmt.array, stmt.index) + " = " + printer_.full(stmt.value) +
            ";\n";
    return;
  }
  const bool is_bool = value.dtype == DType::kBool;
  const ValueType stored = memory_type(value);
  std::string bytes;
  if (is_bool) {
    const std::string ones = printer_.constant({DType::kInt8, value.lanes}, "1");
    bytes = printer_.as_bytes(printer_.mask(stmt.value, 1) + " & " + ones, value.lanes);
  }
  if (index.lanes == 1) {
    out_ +=
        indent +
        printer_.store(stmt.array, stmt.index, value, is_bool ? bytes : printer_.full(stmt.value)) +
        ";\n";
    return;
  }
  const std::string indices = printer_.primary_atom(stmt.index);
  const std::string lanes =
      is_bool ? printer_.name_text(types_.name(stored), bytes) : printer_.primary_atom(stmt.value);
  for (int lane = 0; lane < value.lanes; ++lane) {
    out_ += indent + printer_.array_name(stmt.array) + "[" + dialect_.lane(indices, lane) +
            "] = " + dialect_.lane(lanes, lane) + ";\n";
  }
}

}  // namespace camshaft::render
