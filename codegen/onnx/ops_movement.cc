// SPDX-License-Identifier: MIT
// Operators that lay elements out anew.
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/format.h"
#include "codegen/onnx/op_table.h"
#include "codegen/onnx/stretching.h"
#include "runtime/base/bytes.h"

namespace camshaft::onnx {
namespace {

// The product of extents, of which a value's shape gives no more than 2^46.
int64_t product(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<int64_t>());
}

// Fills in the one -1 of a shape: what is left of the elements.
bool infer_extent(NodeReader& node, int64_t elements, Shape* shape) {
  std::optional<int64_t> known = 1;
  int64_t* free = nullptr;
  for (int64_t& extent : *shape) {
    if (extent < -1 || (extent == -1 && free != nullptr)) {
      node.invalid("can't reshape to %s", shape_text(*shape).c_str());
      return false;
    }
    if (extent == -1) free = &extent;
    if (extent >= 0 && known) known = base::checked_mul(*known, extent);
  }
  if (free == nullptr) return true;
  if (!known || *known == 0 || elements % *known != 0) {
    node.invalid("can't reshape %lld elements to %s", static_cast<long long>(elements),
                 shape_text(*shape).c_str());
    return false;
  }
  *free = elements / *known;
  return true;
}

// A shape whose extents depend on data, or that of an x whose extents do. `target` has its 0 and -1
// replaced by what they stand for.
Value reshape_counted(NodeReader& node, Value x, Shape bounds, bool allow_zero) {
  Builder& builder = node.builder();
  const int rank = static_cast<int>(bounds.size());
  std::vector<Value> extents;
  int free = -1;
  int64_t known = 1;
  Value product_of_others = builder.scalar(DType::kInt64, 1);
  for (int axis = 0; axis < rank; ++axis) {
    int64_t& bound = bounds[static_cast<size_t>(axis)];
    Value extent = reshape(slice_axis(node.input(1), 0, axis, 1), {});
    const bool copies = bound == 0 && extent.literal() != nullptr && !allow_zero && axis < x.rank();
    if (copies) extent = extent_of(x, axis);
    if (copies) bound = x.dim(axis);
    extents.push_back(extent);
    if (bound < 0 && free >= 0) return node.invalid("the shape has two -1");
    if (bound < 0) {
      free = axis;
    } else {
      product_of_others = product_of_others * extent;
      known *= std::max<int64_t>(bound, 1);
    }
  }
  if (free >= 0) {
    Value elements = builder.scalar(DType::kInt64, 1);
    for (int axis = 0; axis < x.rank(); ++axis) elements = elements * extent_of(x, axis);
    // Where others depend on data too, all that is certain is that there are no more elements.
    const bool is_exact = product_of_others.literal() != nullptr || x.elements() % known == 0;
    bounds[static_cast<size_t>(free)] = is_exact ? x.elements() / known : x.elements();
    extents[static_cast<size_t>(free)] = elements / max(product_of_others, 1.0);
  }
  std::vector<Value> entries;
  for (const Value& extent : extents) entries.push_back(reshape(extent, {1}));
  return reshape_to(x, concat(entries, 0), bounds);
}

Value read_reshape(NodeReader& node) {
  const Value x = node.input(0);
  const bool allow_zero = node.flag_attr("allowzero", false);
  std::optional<Shape> shape = node.bounded_ints(1, "shape");
  if (!shape) return {};
  if (has_counts(x) || node.input(1).literal() == nullptr) {
    return reshape_counted(node, x, std::move(*shape), allow_zero);
  }
  for (size_t i = 0; i < shape->size() && !allow_zero; ++i) {
    if ((*shape)[i] != 0) continue;
    if (i >= x.shape().size()) return node.invalid("the shape copies axis %zu, which x lacks", i);
    (*shape)[i] = x.shape()[i];
  }
  return infer_extent(node, x.elements(), &*shape) ? reshape(x, std::move(*shape)) : Value();
}

Value read_flatten(NodeReader& node) {
  const Value x = node.input(0);
  const int64_t given = node.int_attr("axis", 1);
  const int64_t axis = given < 0 ? given + x.rank() : given;
  if (axis < 0 || axis > x.rank()) {
    return node.invalid("axis %lld is not in [0, %d]", static_cast<long long>(given), x.rank());
  }
  const auto middle = x.shape().begin() + axis;
  return reshape(x, {product(x.shape().begin(), middle), product(middle, x.shape().end())});
}

// The axes of Squeeze and Unsqueeze: an attribute up to opset 12, then an input.
std::optional<Shape> given_axes(NodeReader& node) {
  if (node.opset() < 13) return node.ints_attr("axes");
  return node.input(1) ? node.known_ints(1, "axes") : std::nullopt;
}

Value read_squeeze(NodeReader& node) {
  const Value x = node.input(0);
  std::optional<Shape> given = given_axes(node);
  if (!given) {
    if (node.input(1)) return {};
    given = Shape();
    for (int i = 0; i < x.rank(); ++i) {
      if (x.dim(i) == 1) given->push_back(i);
    }
  }
  const std::optional<std::vector<int>> axes = node.axes(*given, x.rank());
  if (!axes) return {};
  for (const int axis : *axes) {
    if (x.dim(axis) != 1) {
      return node.invalid("axis %d has extent %lld, not 1", axis,
                          static_cast<long long>(x.dim(axis)));
    }
  }
  return drop_axes(x, *axes);
}

Value read_unsqueeze(NodeReader& node) {
  const Value x = node.input(0);
  const std::optional<Shape> given = given_axes(node);
  if (!given) return node.input(1) ? Value() : node.corrupt("axes are missing");
  const int rank = x.rank() + static_cast<int>(given->size());
  const std::optional<std::vector<int>> axes = node.axes(*given, rank);
  if (!axes) return {};
  Shape shape = x.shape();
  for (const int axis : *axes) shape.insert(shape.begin() + axis, 1);
  return reshape(x, std::move(shape));
}

Value read_transpose(NodeReader& node) {
  const Value x = node.input(0);
  const std::optional<Shape> given = node.ints_attr("perm");
  std::vector<int> perm;
  for (int i = 0; i < x.rank() && !given; ++i) perm.push_back(x.rank() - 1 - i);
  if (given) {
    if (!node.axes(*given, x.rank())) return {};
    for (const int64_t axis : *given) perm.push_back(node.axis(axis, x.rank()));
  }
  return transpose(x, std::move(perm));
}

Value read_expand(NodeReader& node) {
  Value x = node.input(0);
  std::optional<Shape> target = node.bounded_ints(1, "shape");
  if (!target) return {};
  const size_t new_axes = target->size() - std::min(target->size(), x.shape().size());
  for (size_t i = new_axes; i < target->size(); ++i) {  // an extent of x may stay as it is
    const bool is_known = slice_axis(node.input(1), 0, static_cast<int64_t>(i), 1).literal();
    const int64_t own = x.shape()[i - new_axes];
    if (!is_known && own != 1) (*target)[i] = own;
  }
  if (has_counts(x)) {
    const Value wanted = node.builder().splat({x.dtype(), *target}, 0);
    x = stretched({x, with_target_counts(wanted, node.input(1))})[0];
  }
  const std::optional<Shape> shape = broadcast_shapes(x.shape(), *target);
  if (!shape) {
    return node.invalid("can't expand %s to %s", shape_text(x.shape()).c_str(),
                        shape_text(*target).c_str());
  }
  Value result = broadcast_to(x, *shape);
  const auto more = static_cast<int64_t>(shape->size() - target->size());
  for (size_t i = 0; i < target->size() && result; ++i) {
    const Value entry = reshape(slice_axis(node.input(1), 0, static_cast<int64_t>(i), 1), {});
    const bool stretches = i < new_axes || x.shape()[i - new_axes] == 1;
    if (entry.literal() != nullptr || !stretches) continue;
    result = with_count(result, static_cast<int>(static_cast<int64_t>(i) + more), entry);
  }
  return result;
}

// Copies of an axis that has a count, one after the other.
Value tile_counted(Value x, int axis, int64_t copies) {
  Builder& builder = *x.builder();
  const std::optional<int64_t> bound = base::checked_mul(x.dim(axis), copies);
  if (!bound || copies < 0 || !builder.may_make(*bound)) return {};
  const Value own = extent_of(x, axis);
  std::map<int, Value> others = builder.counts(x.index());
  others.erase(axis);
  const Value places = rem(builder.iota(*bound), max(own, 1.0));
  const Value tiled = gather(builder.with_counts(x, std::move(others)), places, axis);
  return with_count(tiled, axis, own * static_cast<double>(copies));
}

// Each repeated axis gets an axis of copies before it.
Value read_tile(NodeReader& node) {
  Value x = node.input(0);
  std::optional<Shape> repeats = node.known_ints(1, "repeats");
  if (!repeats) return {};
  if (repeats->size() != x.shape().size()) return node.invalid("needs one repeat for each axis");
  for (int axis = 0; axis < x.rank(); ++axis) {
    int64_t& copies = (*repeats)[static_cast<size_t>(axis)];
    if (copies == 1 || !has_count(x, axis)) continue;
    x = tile_counted(x, axis, copies);
    if (!x) return node.invalid("repeats are negative or too large");
    copies = 1;
  }
  Shape split;
  Shape copied;
  Shape result;
  for (size_t i = 0; i < repeats->size(); ++i) {
    const std::optional<int64_t> extent = base::checked_mul(x.shape()[i], (*repeats)[i]);
    if (!extent || (*repeats)[i] < 0) return node.invalid("repeats are negative or too large");
    if ((*repeats)[i] != 1) {
      split.push_back(1);
      copied.push_back((*repeats)[i]);
    }
    split.push_back(x.shape()[i]);
    copied.push_back(x.shape()[i]);
    result.push_back(*extent);
  }
  return reshape(broadcast_to(reshape(x, std::move(split)), copied), std::move(result));
}

Value read_concat(NodeReader& node) {
  const int axis = node.axis(node.required_int("axis"), node.input(0).rank());
  for (int i = 0; i < node.input_count(); ++i) {
    if (!node.input(i)) return node.corrupt("input %d is missing", i);
    for (int other = 0; other < node.input(i).rank(); ++other) {
      if (other != axis && node.input(i).rank() == node.input(0).rank()) {
        watch_equal(node.input(0), other, node.input(i), other);
      }
    }
  }
  const bool is_counted =
      std::any_of(node.inputs().begin(), node.inputs().end(),
                  [axis](const Value& piece) { return has_count(piece, axis); });
  return is_counted ? concat_counted(node.inputs(), axis) : concat(node.inputs(), axis);
}

// Sizes of the parts: given, or equal, the last one smaller from opset 18 on.
std::optional<Shape> split_sizes(NodeReader& node, int64_t extent) {
  if (node.opset() < 13) {
    if (std::optional<Shape> given = node.ints_attr("split")) return given;
  } else if (node.input(1)) {
    return node.known_ints(1, "split");
  }
  const int64_t parts = std::max(1, node.output_count());
  if (node.int_attr("num_outputs", parts) != parts) {
    node.corrupt("num_outputs is not the number of outputs, %lld", static_cast<long long>(parts));
    return std::nullopt;
  }
  const int64_t size = (extent + parts - 1) / parts;
  Shape sizes(static_cast<size_t>(parts), size);
  sizes.back() = extent - size * (parts - 1);
  if (sizes.back() == size || (node.opset() >= 18 && sizes.back() >= 0)) return sizes;
  node.invalid("can't split %lld into %lld parts", static_cast<long long>(extent),
               static_cast<long long>(parts));
  return std::nullopt;
}

// Equal parts of an axis that has a count.
Value split_counted(NodeReader& node, Value x, int axis) {
  if (node.has_attr("split") || node.input(1)) {
    return node.unsupported(
        "parts of given sizes of an axis whose extent depends on data; use Slice for each");
  }
  const int64_t parts = node.output_count();
  node.ignore_attr("num_outputs");
  const int64_t bound = (x.dim(axis) + parts - 1) / parts;
  const Value own = extent_of(x, axis);
  const Value size = (own + static_cast<double>(parts - 1)) / static_cast<double>(parts);
  for (int i = 0; i < node.output_count(); ++i) {
    if (!node.wants_output(i)) continue;
    const Value begin = size * static_cast<double>(i);
    const Value count = max(min(own - begin, size), 0.0);
    node.set_output(i, slice_counted(x, axis, begin, 1, count, bound));
  }
  return node.output(0);
}

Value read_split(NodeReader& node) {
  const Value x = node.input(0);
  if (x.rank() == 0) return node.invalid("can't split a scalar");
  const int axis = node.axis(node.int_attr("axis", 0), x.rank());
  if (has_count(x, axis)) return split_counted(node, x, axis);
  const std::optional<Shape> sizes = split_sizes(node, x.dim(axis));
  if (!sizes) return {};
  if (static_cast<int>(sizes->size()) != node.output_count()) {
    return node.invalid("splits into %zu parts but has %d outputs", sizes->size(),
                        node.output_count());
  }
  int64_t begin = 0;
  for (int i = 0; i < node.output_count(); ++i) {
    const int64_t size = (*sizes)[static_cast<size_t>(i)];
    if (size < 0 || size > x.dim(axis) - begin) break;
    if (node.wants_output(i)) node.set_output(i, slice_axis(x, axis, begin, size));
    begin += size;
  }
  if (begin != x.dim(axis)) {
    return node.invalid("parts of %s don't make up an extent of %lld", shape_text(*sizes).c_str(),
                        static_cast<long long>(x.dim(axis)));
  }
  return node.output(0);
}

// Checks DepthToSpace and SpaceToDepth; returns the block size or 0.
int64_t block_size(NodeReader& node, std::string* mode) {
  const Value x = node.input(0);
  const int64_t block = node.required_int("blocksize");
  *mode = node.string_attr("mode", "DCR");
  if (*mode != "DCR" && *mode != "CRD") node.unsupported("mode must be DCR or CRD");
  bool fits = block >= 1 && block <= INT32_MAX && x.rank() == 4;
  for (int axis = 0; fits && axis < 4; ++axis) {
    fits = base::checked_mul(x.dim(axis), block * block).has_value();
  }
  if (fits) return block;
  node.invalid("needs [N, C, H, W] and a positive blocksize");
  return 0;
}

Value read_depth_to_space(NodeReader& node) {
  const Value x = node.input(0);
  std::string mode;
  const int64_t block = block_size(node, &mode);
  if (block == 0) return {};
  const int64_t depth = x.dim(1) / (block * block);
  if (depth * block * block != x.dim(1)) return node.invalid("channels don't make whole blocks");
  const Shape result = {x.dim(0), depth, x.dim(2) * block, x.dim(3) * block};
  if (mode == "CRD") {
    const Value blocks = reshape(x, {x.dim(0), depth, block, block, x.dim(2), x.dim(3)});
    return reshape(transpose(blocks, {0, 1, 4, 2, 5, 3}), result);
  }
  const Value blocks = reshape(x, {x.dim(0), block, block, depth, x.dim(2), x.dim(3)});
  return reshape(transpose(blocks, {0, 3, 4, 1, 5, 2}), result);
}

Value read_space_to_depth(NodeReader& node) {
  const Value x = node.input(0);
  std::string mode;
  const int64_t block = block_size(node, &mode);
  if (block == 0) return {};
  const int64_t rows = x.dim(2) / block;
  const int64_t columns = x.dim(3) / block;
  if (rows * block != x.dim(2) || columns * block != x.dim(3)) {
    return node.invalid("height and width don't make whole blocks");
  }
  const Value blocks = reshape(x, {x.dim(0), x.dim(1), rows, block, columns, block});
  const std::vector<int> perm =
      mode == "CRD" ? std::vector<int>{0, 1, 3, 5, 2, 4} : std::vector<int>{0, 3, 5, 1, 2, 4};
  return reshape(transpose(blocks, perm), {x.dim(0), x.dim(1) * block * block, rows, columns});
}

constexpr OpRow kOps[] = {
    {"Reshape", 7, 2, 2, read_reshape},
    {"Flatten", 7, 1, 1, read_flatten},
    {"Squeeze", 7, 1, 2, read_squeeze},
    {"Unsqueeze", 7, 1, 2, read_unsqueeze},
    {"Transpose", 7, 1, 1, read_transpose},
    {"Expand", 8, 2, 2, read_expand},
    {"Tile", 7, 2, 2, read_tile},
    {"Concat", 7, 1, kAnyCount, read_concat},
    {"Split", 7, 1, 2, read_split},
    {"DepthToSpace", 7, 1, 1, read_depth_to_space},
    {"SpaceToDepth", 7, 1, 1, read_space_to_depth},
};

}  // namespace

OpFamily movement_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
