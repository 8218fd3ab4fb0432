// SPDX-License-Identifier: MIT
#include "codegen/lower/index.h"

#include <algorithm>

namespace camshaft::lower {

using ir::ExprId;
using ir::Kernel;
using ir::KOp;
using ir::Shape;

namespace {

// Which row of an image: by all axes but those that are in a row.
ExprId row_number(Kernel& kernel, const Shape& shape, bool has_channels, const Index& index) {
  ExprId row = kernel.int_const(0);
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis) {
    if (has_channels && axis == 1) continue;
    row = kernel.add(kernel.mul(row, shape[axis]), index[axis]);
  }
  return row;
}

ExprId row_offset(Kernel& kernel, const Shape& shape, schedule::Layout layout, const Index& index) {
  const bool has_channels = layout.channel_block > 1;
  ExprId row = row_number(kernel, shape, has_channels, index);
  row = kernel.mul(row, layout.row_texels * base::kTexelElements);
  if (!has_channels) return kernel.add(row, index.back());
  return kernel.add(
      row, kernel.add(kernel.mul(index.back(), schedule::texel_channels(shape[1])), index[1]));
}

}  // namespace

ExprId layout_offset(Kernel& kernel, const Shape& shape, schedule::Layout layout,
                     const Index& index) {
  CAMSHAFT_CHECK(shape.size() == index.size());
  const int64_t block = layout.channel_block;
  if (layout.row_texels > 0) return row_offset(kernel, shape, layout, index);
  if (block == 1) return linear_index(kernel, shape, index);
  ExprId offset = index[0];
  offset = kernel.add(kernel.mul(offset, shape[1] / block), kernel.div(index[1], block));
  for (size_t axis = 2; axis < shape.size(); ++axis) {
    offset = kernel.add(kernel.mul(offset, shape[axis]), index[axis]);
  }
  return kernel.add(kernel.mul(offset, block), kernel.mod(index[1], block));
}

ExprId bordered_texel(Kernel& kernel, ir::ArrayId image, const Shape& shape, const Index& index) {
  const int64_t elements = base::kTexelElements;
  const ExprId column =
      kernel.add(kernel.mul(index.back(), schedule::texel_channels(shape[1]) / elements),
                 kernel.div(index[1], elements));
  return kernel.texel(image, column, row_number(kernel, shape, true, index),
                      kernel.mod(index[1], elements));
}

ExprId linear_index(Kernel& kernel, const Shape& shape, const Index& index) {
  ExprId offset = kernel.int_const(0);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    offset = kernel.add(kernel.mul(offset, shape[axis]), index[axis]);
  }
  return offset;
}

Index delinearize(Kernel& kernel, const Shape& shape, ExprId linear) {
  Index index(shape.size());
  int64_t below = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    const ExprId above = below == 1 ? linear : kernel.div(linear, below);
    index[axis] = axis == 0 ? above : kernel.mod(above, shape[axis]);
    if (shape[axis] == 1) index[axis] = kernel.int_const(0);
    below *= std::max<int64_t>(shape[axis], 1);
  }
  return index;
}

Index matrix_index(Kernel& kernel, const Shape& batch_shape, ExprId batch, ExprId row,
                   ExprId column) {
  Index index = delinearize(kernel, batch_shape, batch);
  index.push_back(row);
  index.push_back(column);
  return index;
}

Index reshape_index(Kernel& kernel, const Shape& from, const Shape& to, const Index& index) {
  Index result(from.size(), kernel.int_const(0));
  size_t f = 0;
  size_t t = 0;
  while (f < from.size() || t < to.size()) {
    // The smallest group of axes on both sides with equal products.
    const size_t f0 = f;
    const size_t t0 = t;
    int64_t from_product = f < from.size() ? from[f++] : 1;
    int64_t to_product = t < to.size() ? to[t++] : 1;
    while (from_product != to_product) {
      if (from_product < to_product && f < from.size()) {
        from_product *= from[f++];
      } else if (t < to.size()) {
        to_product *= to[t++];
      } else {
        break;  // an extent of 0: no element is ever asked for
      }
    }
    const Shape to_group(to.begin() + static_cast<int64_t>(t0),
                         to.begin() + static_cast<int64_t>(t));
    const Shape from_group(from.begin() + static_cast<int64_t>(f0),
                           from.begin() + static_cast<int64_t>(f));
    const Index part(index.begin() + static_cast<int64_t>(t0),
                     index.begin() + static_cast<int64_t>(t));
    const Index mapped = delinearize(kernel, from_group, linear_index(kernel, to_group, part));
    std::copy(mapped.begin(), mapped.end(), result.begin() + static_cast<int64_t>(f0));
  }
  return result;
}

namespace {

// Adds `scale` times `id` to the coefficients; false if a variable occurs non-linearly.
bool add_terms(const Kernel& kernel, ExprId id, int64_t scale, const std::vector<ir::VarId>& vars,
               std::vector<int64_t>& coefficients) {
  const ir::Expr& expr = kernel.expr(id);
  const auto find_var = [&](ir::VarId var) {
    return std::find(vars.begin(), vars.end(), var) - vars.begin();
  };
  switch (expr.op) {
    case KOp::kIntConst:
      return true;
    case KOp::kVar: {
      const auto at = static_cast<size_t>(find_var(static_cast<ir::VarId>(expr.int_value)));
      if (at < vars.size()) coefficients[at] += scale;
      return true;
    }
    case KOp::kAdd:
      return add_terms(kernel, expr.args[0], scale, vars, coefficients) &&
             add_terms(kernel, expr.args[1], scale, vars, coefficients);
    case KOp::kSub:
      return add_terms(kernel, expr.args[0], scale, vars, coefficients) &&
             add_terms(kernel, expr.args[1], -scale, vars, coefficients);
    case KOp::kMul: {
      int64_t factor = 0;
      if (kernel.is_int_const(expr.args[1], &factor)) {
        return add_terms(kernel, expr.args[0], scale * factor, vars, coefficients);
      }
      if (kernel.is_int_const(expr.args[0], &factor)) {
        return add_terms(kernel, expr.args[1], scale * factor, vars, coefficients);
      }
      break;
    }
    default:
      break;
  }
  // Anything else may not depend on the variables at all.
  for (int i = 0; i < ir::kop_arity(expr.op); ++i) {
    std::vector<int64_t> inside(vars.size(), 0);
    if (!add_terms(kernel, expr.args[i], 1, vars, inside)) return false;
    for (int64_t coefficient : inside) {
      if (coefficient != 0) return false;
    }
  }
  return true;
}

}  // namespace

bool affine_coefficients(const Kernel& kernel, ExprId id, const std::vector<ir::VarId>& vars,
                         std::vector<int64_t>& coefficients) {
  coefficients.assign(vars.size(), 0);
  return add_terms(kernel, id, 1, vars, coefficients);
}

}  // namespace camshaft::lower
