// SPDX-License-Identifier: MIT
// Statements of a legalised kernel in a dialect of C; how a function begins, and where its thread
// loop's iterations come from, is the dialect's.
#pragma once

#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/render/c_expr.h"

namespace camshaft::render {

class CKernelPrinter {
 public:
  CKernelPrinter(const ir::Kernel& kernel, CPrelude* prelude);

  // The kernel as functions.
  std::string function();

 protected:
  ~CKernelPrinter() = default;

  // The function's name and parameters, up to its first statement.
  virtual void print_head() = 0;
  // What runs a loop's body: a line that ends in an opening brace.
  virtual void print_thread_loop(const ir::Stmt& stmt, const std::string& indent) = 0;
  virtual void print_prefetch(const std::string& address, const std::string& indent) = 0;
  // A statement on matrices; `address` is that of a load's or store's first row.
  virtual void print_matrix(const ir::Stmt& stmt, const std::string& address,
                            const std::string& indent);
  // Of groups, which check_renderable() lets through for GPUs alone.
  virtual void print_item_loop(const ir::Stmt& /*stmt*/, const std::string& /*indent*/) {
    CAMSHAFT_CHECK(false);
  }
  virtual void print_barrier(const std::string& /*indent*/) { CAMSHAFT_CHECK(false); }
  // What follows the function's last statement, and the function.
  virtual void print_tail() {}
  virtual void print_end() {}

  // "restrict " unless the parameter may be the same memory as another one.
  const char* restrict_word(ir::ArrayId id) const;
  const char* element_type(ir::ArrayId id) const {
    return dialect_.memory_type(kernel_.array(id).dtype);
  }

  const ir::Kernel& kernel_;
  const CDialect& dialect_;
  CTypes& types_;
  CExprPrinter printer_;
  std::string out_;

 private:
  void collect_uses();
  void print_locals();
  void print_stmts(const std::vector<ir::Stmt>& body, int depth);
  void print_for(const ir::Stmt& stmt, int depth);
  void print_let(const ir::Stmt& stmt);
  void print_store(const ir::Stmt& stmt, const std::string& indent);

  std::vector<bool> is_var_used_;
  std::vector<bool> is_array_used_;
};

}  // namespace camshaft::render
