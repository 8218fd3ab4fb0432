// SPDX-License-Identifier: MIT
// The statement under way: names, parentheses, memory. Operations are in c_ops.cc.
#include "codegen/render/c_expr.h"

#include <algorithm>
#include <utility>

namespace camshaft::render {

using ir::DType;
using ir::Expr;
using ir::ExprId;
using ir::KOp;
using ir::ValueType;

namespace {

// Longer texts get a name of their own, unless they are all of a statement.
constexpr size_t kLongText = 72;
constexpr size_t kLongStatement = 140;

}  // namespace

std::string CPrelude::text() const {
  std::string result = types.declarations();
  for (const std::string& line : macros) result += line;
  for (const std::string& line : helpers) result += line;
  return result;
}

CExprPrinter::CExprPrinter(const ir::Kernel& kernel, CPrelude* prelude)
    : kernel_(kernel),
      prelude_(*prelude),
      dialect_(prelude->dialect),
      namer_(prelude->dialect),
      order_(kernel) {
  for (const ir::Array& array : kernel.arrays()) array_names_.push_back(namer_.make(array.name));
  for (const ir::Var& var : kernel.vars()) var_names_.push_back(namer_.make(var.name));
  var_mask_bytes_.resize(kernel.vars().size());
  printed_.resize(static_cast<size_t>(kernel.expr_count()));
}

void CExprPrinter::begin_stmt(const std::vector<ExprId>& roots, std::string indent,
                              std::string* out) {
  indent_ = std::move(indent);
  out_ = out;
  const std::vector<ExprId>& order = order_.list(roots);
  for (const ExprId id : order) printed(id) = {};
  count_uses(order, roots);
  for (const ExprId id : order) {
    const int uses = printed(id).uses;
    if (uses == 0) continue;  // a part of an index that a strided load takes apart
    printed(id) = print(id);
    printed(id).uses = uses;
    if (printed(id).is_atom) continue;
    const bool is_root = std::find(roots.begin(), roots.end(), id) != roots.end();
    const size_t limit = is_root ? kLongStatement : kLongText;
    if (uses > 1 || printed(id).text.size() > limit) name_it(id);
  }
}

void CExprPrinter::count_uses(const std::vector<ExprId>& order, const std::vector<ExprId>& roots) {
  for (const ExprId root : roots) {
    if (root != ir::kNoExpr) ++printed(root).uses;
  }
  for (size_t i = order.size(); i-- > 0;) {
    const Expr& e = expr(order[i]);
    if (printed(order[i]).uses == 0) continue;
    const auto strided = e.op == KOp::kLoad && expr(e.args[0]).type.lanes > 1
                             ? strided_load(kernel_, e)
                             : std::nullopt;
    if (strided) {
      printed(strided->base).uses += static_cast<int>(strided->chunks.size());
      continue;
    }
    for (const ExprId arg : e.args) {
      if (arg != ir::kNoExpr) ++printed(arg).uses;
    }
  }
}

std::string CExprPrinter::name_text(const std::string& type, const std::string& text) {
  const std::string name = namer_.make("t" + std::to_string(names_++));
  *out_ += indent_ + "const " + type + " " + name + " = " + text + ";\n";
  return name;
}

void CExprPrinter::name_it(ExprId id) {
  Printed& p = printed(id);
  p.text = name_text(type_of(id), p.text);
  p.level = Level::kPrimary;
  p.is_atom = true;
}

std::string CExprPrinter::type_of(ExprId id) {
  const ValueType type = expr(id).type;
  return is_mask(type) ? prelude_.types.mask_name(mask_bytes(id), type.lanes)
                       : prelude_.types.name(type);
}

void CExprPrinter::set_var_mask_bytes(ir::VarId var, ExprId value) {
  var_mask_bytes_[static_cast<size_t>(var)] = mask_bytes(value);
}

std::string CExprPrinter::at_most(ExprId id, Level level) {
  const Printed& p = printed(id);
  return p.level <= level ? p.text : "(" + p.text + ")";
}

std::string CExprPrinter::operand(ExprId id) {
  return at_most(id, Level::kUnary);
}

std::string CExprPrinter::full(ExprId id) {
  return printed(id).text;
}

std::string CExprPrinter::atom(ExprId id) {
  if (!printed(id).is_atom) name_it(id);
  return operand(id);
}

std::string CExprPrinter::primary_atom(ExprId id) {
  if (!printed(id).is_atom) name_it(id);
  return at_most(id, Level::kPrimary);
}

std::string CExprPrinter::mask(ExprId id, int bytes) {
  if (mask_bytes(id) == bytes) return operand(id);
  const int32_t lanes = expr(id).type.lanes;
  return converted(id, {mask_dtype(mask_bytes(id)), lanes}, {mask_dtype(bytes), lanes}).text;
}

std::string CExprPrinter::store(ir::ArrayId array, ExprId index, ValueType type,
                                const std::string& value) {
  const ValueType stored = memory_type(type);
  const int64_t alignment = access_alignment(kernel_, index, type);
  prelude_.types.use_access(stored, alignment);
  return dialect_.store(stored, alignment, kernel_.array(array).kind,
                        element(array, index, /*is_address=*/true), value);
}

std::string CExprPrinter::load(ir::ArrayId array, const std::string& pointer, ValueType type,
                               int64_t alignment) {
  prelude_.types.use_access(type, alignment);
  return dialect_.load(type, alignment, kernel_.array(array).kind, pointer);
}

std::string CExprPrinter::as_bytes(const std::string& mask, int32_t lanes) {
  const ValueType bytes = {DType::kUInt8, lanes};
  (void)prelude_.types.name(bytes);
  return applied(dialect_.bitcast({DType::kInt8, lanes}, bytes), mask, "(" + mask + ")").text;
}

std::string CExprPrinter::element(ir::ArrayId array, ExprId index, bool is_address) {
  int64_t constant = 0;
  const std::string place =
      kernel_.is_int_const(index, &constant) ? std::to_string(constant) : full(index);
  return (is_address ? "&" : "") + array_name(array) + "[" + place + "]";
}

CExprPrinter::Printed CExprPrinter::print(ExprId id) {
  const Expr& e = expr(id);
  switch (e.op) {
    case KOp::kIntConst:
    case KOp::kFloatConst: {
      const std::string text = e.op == KOp::kIntConst
                                   ? dialect_.int_literal(e.int_value, e.type.dtype)
                                   : dialect_.float_literal(e.float_value, e.type.dtype);
      return {
          .text = text, .level = text[0] == '-' ? Level::kUnary : Level::kPrimary, .is_atom = true};
    }
    case KOp::kVar:
      return print_var(e);
    case KOp::kLoad:
      return print_load(e);
    case KOp::kTexel:
      return print_texel(e);
    case KOp::kBroadcast:
      return print_broadcast(e);
    case KOp::kRamp:
      return print_ramp(e);
    case KOp::kReduceAdd:
    case KOp::kReduceMax:
    case KOp::kReduceMin:
      return print_reduce(e);
    case KOp::kEq:
    case KOp::kLt:
    case KOp::kLe:
      return print_compare(e);
    case KOp::kSelect:
    case KOp::kMin:
    case KOp::kMax:
      return print_select(e);
    case KOp::kCast:
      return print_cast(e);
    case KOp::kBitcast:
      return print_bitcast(e);
    case KOp::kNeg:
      return {.text = "-" + at_most(e.args[0], Level::kPrimary), .level = Level::kUnary};
    case KOp::kDot:
    case KOp::kFma:
    case KOp::kAbs:
    case KOp::kSqrt:
    case KOp::kFloor:
    case KOp::kCeil:
    case KOp::kRound:
      return print_call(e);
    default:
      return e.type.dtype == DType::kBool ? print_logic(e) : print_arithmetic(e);
  }
}

CExprPrinter::Printed CExprPrinter::print_call(const Expr& e) {
  const int arity = ir::kop_arity(e.op);
  const bool is_dot = e.op == KOp::kDot;
  const CFunction function = is_dot ? dialect_.dot(e.type.lanes) : dialect_.function(e.op);
  (is_dot ? prelude_.helpers : prelude_.macros).insert(function.declaration);
  std::string text = function.name + "(";
  for (int i = 0; i < arity; ++i) text += (i == 0 ? "" : ", ") + full(e.args[i]);
  return {.text = text + ")"};
}

CExprPrinter::Printed CExprPrinter::print_var(const Expr& e) {
  const auto var = static_cast<size_t>(e.int_value);
  return {.text = var_names_[var], .mask_bytes = var_mask_bytes_[var], .is_atom = true};
}

CExprPrinter::Printed CExprPrinter::print_load(const Expr& e) {
  const ExprId index = e.args[0];
  const bool is_bool = e.type.dtype == DType::kBool;
  Printed loaded;
  if (e.type.lanes == 1) {
    loaded.text = element(e.array, index);
  } else if (expr(index).type.lanes == 1) {
    loaded = {.text = load(e.array, element(e.array, index, /*is_address=*/true),
                           memory_type(e.type), access_alignment(kernel_, index, e.type)),
              .level = Level::kUnary};
  } else if (const auto strided = strided_load(kernel_, e)) {
    loaded.text = shuffles(e, *strided);
  } else {
    loaded = {.text = gather(e), .level = Level::kUnary};
  }
  return is_bool ? comparison(loaded.text + " != " + constant(memory_type(e.type), "0"), 1,
                              e.type.lanes)
                 : loaded;
}

bool CExprPrinter::is_whole_texel(const Expr& e) const {
  const Expr& element = expr(e.args[2]);
  int64_t first = -1, stride = 0;
  return expr(e.args[0]).type.lanes == 1 && expr(e.args[1]).type.lanes == 1 &&
         e.type.lanes == base::kTexelElements && element.op == KOp::kRamp &&
         kernel_.is_int_const(element.args[0], &first) && first == 0 &&
         kernel_.is_int_const(element.args[1], &stride) && stride == 1;
}

std::string CExprPrinter::texel_element(const Expr& e, const std::string& texel,
                                        const std::string& number) {
  constexpr int kLast = static_cast<int>(base::kTexelElements) - 1;
  const std::string name =
      name_text(prelude_.types.name({e.type.dtype, base::kTexelElements}), texel);
  std::string text = dialect_.lane(name, kLast);
  for (int i = kLast - 1; i >= 0; --i) {
    text = number + " == " + std::to_string(i) + " ? " + dialect_.lane(name, i) + " : " + text;
  }
  return text;
}

CExprPrinter::Printed CExprPrinter::print_texel(const Expr& e) {
  prelude_.macros.insert(dialect_.texel_declaration());
  const auto read = [&](const std::string& x, const std::string& y) {
    return dialect_.read_texel(kernel_.array(e.array).dtype, array_name(e.array), x, y);
  };
  if (is_whole_texel(e)) return {.text = read(full(e.args[0]), full(e.args[1]))};
  if (e.type.lanes == 1) {
    const std::string texel = read(full(e.args[0]), full(e.args[1]));
    int64_t number = 0;
    if (kernel_.is_int_const(e.args[2], &number)) {
      return {.text = dialect_.lane(texel, static_cast<int>(number))};
    }
    return {.text = texel_element(e, texel, atom(e.args[2])), .level = Level::kOther};
  }
  const auto lane_of = [&](ExprId id, int lane) {
    return expr(id).type.lanes == 1 ? atom(id) : dialect_.lane(primary_atom(id), lane);
  };
  std::vector<std::string> elements;
  for (int lane = 0; lane < e.type.lanes; ++lane) {
    const std::string texel = read(lane_of(e.args[0], lane), lane_of(e.args[1], lane));
    elements.push_back(texel_element(e, texel, lane_of(e.args[2], lane)));
  }
  return {.text = dialect_.lanes(prelude_.types.name(e.type), elements), .level = Level::kUnary};
}

std::string CExprPrinter::store_texel(ir::ArrayId image, ExprId x, ExprId y, ExprId value) {
  const DType dtype = kernel_.array(image).dtype;
  std::string text = full(value);
  if (dtype == DType::kFloat16) {
    // Devices may cut what they write to a half off (OpenCL 3.0, 8.3.2), so it is one already.
    const ValueType wide = expr(value).type, narrow = {dtype, wide.lanes};
    (void)prelude_.types.name(narrow);
    text = applied(dialect_.conversion(wide, narrow), text, text).text;
    text = applied(dialect_.conversion(narrow, wide), text, text).text;
  }
  return dialect_.write_texel(dtype, array_name(image), full(x), full(y), text);
}

std::string CExprPrinter::shuffles(const Expr& e, const StridedLoad& load) {
  const ValueType type = memory_type(e.type);
  const ValueType chunk_type = {type.dtype, load.chunk_lanes};
  const std::string name = prelude_.types.name(type);
  const std::string chunk_name = prelude_.types.name(chunk_type);
  const std::string pointer = "&" + array_name(e.array) + "[" + at_most(load.base, Level::kAdd);
  std::string result;
  for (size_t chunk = 0; chunk < load.chunks.size(); ++chunk) {
    const int64_t offset = load.chunks[chunk];
    const std::string shift = offset < 0   ? " - " + std::to_string(-offset)
                              : offset > 0 ? " + " + std::to_string(offset)
                                           : "";
    const std::string part = name_text(
        chunk_name, this->load(e.array, pointer + shift + "]", chunk_type, size_of(type.dtype)));
    result = name_text(name, dialect_.shuffle(name, chunk == 0 ? part : result, part,
                                              load.chunk_lanes, load.masks[chunk]));
  }
  return result;
}

std::string CExprPrinter::gather(const Expr& e) {
  const std::string indices = primary_atom(e.args[0]);
  const std::string& array = array_name(e.array);
  std::vector<std::string> elements;
  for (int lane = 0; lane < e.type.lanes; ++lane) {
    elements.push_back(array + "[" + dialect_.lane(indices, lane) + "]");
  }
  return dialect_.lanes(prelude_.types.name(memory_type(e.type)), elements);
}

}  // namespace camshaft::render
