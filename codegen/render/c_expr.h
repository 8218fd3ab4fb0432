// SPDX-License-Identifier: MIT
// Expressions of a legalised kernel in a dialect of C.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/render/c_names.h"
#include "codegen/render/c_types.h"
#include "codegen/render/strided.h"
#include "codegen/render/walk.h"

namespace camshaft::render {

// What a translation unit needs before its functions.
struct CPrelude {
  explicit CPrelude(const CDialect& its_dialect) : dialect(its_dialect), types(its_dialect) {}

  const CDialect& dialect;
  CTypes types;
  std::set<std::string> macros;   // lines
  std::set<std::string> helpers;  // functions

  std::string text() const;
};

// Prints the expressions of one kernel, a statement at a time. What a statement uses more than once
// gets a name ("const f32x8 t3 = ..."), which goes before the statement.
class CExprPrinter {
 public:
  CExprPrinter(const ir::Kernel& kernel, CPrelude* prelude);

  // Starts a statement that evaluates `roots`. Lines for names are appended to `out`.
  void begin_stmt(const std::vector<ir::ExprId>& roots, std::string indent, std::string* out);

  // For the roots of the statement begun. Text without side effects, in parentheses where it is not
  // primary or unary.
  std::string operand(ir::ExprId id);
  // As above, not in parentheses.
  std::string full(ir::ExprId id);
  // `id` as a name or a constant, which may be repeated.
  std::string atom(ir::ExprId id);
  // The same, in a form that takes a subscript.
  std::string primary_atom(ir::ExprId id);
  // Lanes of bool as a mask of the given width.
  std::string mask(ir::ExprId id, int bytes);
  // A statement, without its semicolon, that stores lanes from a scalar index on.
  std::string store(ir::ArrayId array, ir::ExprId index, ir::ValueType type,
                    const std::string& value);
  // The same of a whole texel.
  std::string store_texel(ir::ArrayId image, ir::ExprId x, ir::ExprId y, ir::ExprId value);
  // "a[8 * i]", or with "&" before it.
  std::string element(ir::ArrayId array, ir::ExprId index, bool is_address = false);

  // Lanes of a mask of bytes as the bytes of bool in memory.
  std::string as_bytes(const std::string& mask, int32_t lanes);
  // A constant beside an operator whose other operand has the type.
  std::string constant(ir::ValueType type, const char* text) {
    return type.lanes == 1 ? text : dialect_.lanes_constant(prelude_.types.name(type), text);
  }
  // A new name for a text of the type.
  std::string name_text(const std::string& type, const std::string& text);

  const std::string& array_name(ir::ArrayId id) const {
    return array_names_[static_cast<size_t>(id)];
  }
  const std::string& var_name(ir::VarId id) const { return var_names_[static_cast<size_t>(id)]; }
  // The C type of an expression or of the variable that is to hold it.
  std::string type_of(ir::ExprId id);
  // To be called when a Let of lanes of bool is printed.
  void set_var_mask_bytes(ir::VarId var, ir::ExprId value);

 private:
  // How tightly a text binds.
  enum class Level : uint8_t { kPrimary, kUnary, kMul, kAdd, kOther };
  struct Printed {
    std::string text;
    Level level = Level::kPrimary;
    int mask_bytes = 0;  // lanes of bool: width of the mask
    bool is_atom = false;
    int uses = 0;
  };

  const ir::Expr& expr(ir::ExprId id) const { return kernel_.expr(id); }
  Printed& printed(ir::ExprId id) { return printed_[static_cast<size_t>(id)]; }
  int mask_bytes(ir::ExprId id) { return printed(id).mask_bytes; }
  std::string at_most(ir::ExprId id, Level level);
  void count_uses(const std::vector<ir::ExprId>& order, const std::vector<ir::ExprId>& roots);
  void name_it(ir::ExprId id);
  bool is_plain_constant(const ir::Expr& e, int64_t* value) const;
  std::string right_operand(const ir::Expr& e, Level level);

  Printed print(ir::ExprId id);
  Printed print_var(const ir::Expr& e);
  Printed print_load(const ir::Expr& e);
  Printed print_texel(const ir::Expr& e);
  bool is_whole_texel(const ir::Expr& e) const;
  // One element of a texel, whose number is a text.
  std::string texel_element(const ir::Expr& e, const std::string& texel, const std::string& number);
  Printed print_broadcast(const ir::Expr& e);
  Printed print_ramp(const ir::Expr& e);
  Printed print_reduce(const ir::Expr& e);
  Printed print_arithmetic(const ir::Expr& e);
  Printed print_logic(const ir::Expr& e);
  Printed print_compare(const ir::Expr& e);
  Printed print_select(const ir::Expr& e);
  Printed print_cast(const ir::Expr& e);
  Printed print_bitcast(const ir::Expr& e);
  std::string load(ir::ArrayId array, const std::string& pointer, ir::ValueType type,
                   int64_t alignment);
  // A value in another form, of a type that has its name: `full` is its text, `operand` the same in
  // parentheses where it needs them.
  Printed applied(const CFunction& function, const std::string& full, const std::string& operand);
  Printed converted(ir::ExprId id, ir::ValueType from, ir::ValueType to);
  Printed comparison(std::string text, int bytes, int32_t lanes);
  std::string shuffles(const ir::Expr& e, const StridedLoad& load);
  std::string gather(const ir::Expr& e);
  Printed print_call(const ir::Expr& e);

  const ir::Kernel& kernel_;
  CPrelude& prelude_;
  const CDialect& dialect_;
  CNamer namer_;
  StmtOrder order_;
  std::vector<std::string> array_names_;
  std::vector<std::string> var_names_;
  std::vector<int> var_mask_bytes_;
  std::vector<Printed> printed_;  // by ExprId, valid for those of the present statement
  std::string indent_;
  std::string* out_ = nullptr;
  int names_ = 0;
};

}  // namespace camshaft::render
