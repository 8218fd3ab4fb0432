// SPDX-License-Identifier: MIT
// Attributes as data: which attributes an op takes, and their fields by name. The printer, the
// parser, comparison and hashing are visitors of the one list below.
#pragma once

#include <string>
#include <string_view>

#include "codegen/ir/graph.h"

namespace camshaft::ir {

// The attributes that `op` takes, with default values; monostate if it takes none.
Attrs default_attrs(Op op);

// The fields as bytes, doubles by their bits: equal exactly if the attributes are (a Constant's
// literal is no field). For comparing and hashing.
std::string attrs_key(const Attrs& attrs);

// Names of enumerators as printed, in the order of their values.
inline constexpr std::string_view kPadModeNames[] = {"constant", "reflect", "edge", "wrap"};
inline constexpr std::string_view kReduceKindNames[] = {"sum", "prod", "max", "min"};
inline constexpr std::string_view kPoolKindNames[] = {"max", "average"};
inline constexpr std::string_view kScatterKindNames[] = {"replace", "sum", "prod", "max", "min"};

// Calls visit(name, field) for each field, in the order of printing. The literal of a Constant is
// not a field. Field types: Shape, std::vector<int>, int, int64_t, bool, double, DType, enums.
template <typename Visitor>
void visit_fields(std::monostate&, Visitor&&) {}
template <typename Visitor>
void visit_fields(ConstantAttrs&, Visitor&&) {}
template <typename Visitor>
void visit_fields(CastAttrs& a, Visitor&& visit) {
  visit("to", a.to);
}
template <typename Visitor>
void visit_fields(ReshapeAttrs& a, Visitor&& visit) {
  visit("shape", a.shape);
}
template <typename Visitor>
void visit_fields(TransposeAttrs& a, Visitor&& visit) {
  visit("perm", a.perm);
}
template <typename Visitor>
void visit_fields(BroadcastAttrs& a, Visitor&& visit) {
  visit("shape", a.shape);
}
template <typename Visitor>
void visit_fields(SliceAttrs& a, Visitor&& visit) {
  visit("begin", a.begin);
  visit("extent", a.extent);
  visit("step", a.step);
}
template <typename Visitor>
void visit_fields(PadAttrs& a, Visitor&& visit) {
  visit("before", a.before);
  visit("after", a.after);
  visit("mode", a.mode);
  visit("value", a.value);
}
template <typename Visitor>
void visit_fields(ConcatAttrs& a, Visitor&& visit) {
  visit("axis", a.axis);
}
template <typename Visitor>
void visit_fields(ReduceAttrs& a, Visitor&& visit) {
  visit("kind", a.kind);
  visit("axes", a.axes);
}
template <typename Visitor>
void visit_fields(ArgReduceAttrs& a, Visitor&& visit) {
  visit("kind", a.kind);
  visit("axis", a.axis);
  visit("select_last", a.select_last);
}
template <typename Visitor>
void visit_fields(ScanAttrs& a, Visitor&& visit) {
  visit("kind", a.kind);
  visit("axis", a.axis);
  visit("exclusive", a.exclusive);
  visit("reverse", a.reverse);
}
template <typename Visitor>
void visit_fields(ConvAttrs& a, Visitor&& visit) {
  visit("strides", a.strides);
  visit("dilations", a.dilations);
  visit("pads_begin", a.pads_begin);
  visit("pads_end", a.pads_end);
  visit("groups", a.groups);
}
template <typename Visitor>
void visit_fields(PoolAttrs& a, Visitor&& visit) {
  visit("kind", a.kind);
  visit("kernel", a.kernel);
  visit("strides", a.strides);
  visit("dilations", a.dilations);
  visit("pads_begin", a.pads_begin);
  visit("pads_end", a.pads_end);
  visit("count_include_pad", a.count_include_pad);
  visit("ceil_mode", a.ceil_mode);
}
template <typename Visitor>
void visit_fields(GatherAttrs& a, Visitor&& visit) {
  visit("axis", a.axis);
}
template <typename Visitor>
void visit_fields(ScatterAttrs& a, Visitor&& visit) {
  visit("kind", a.kind);
}
template <typename Visitor>
void visit_fields(TopKAttrs& a, Visitor&& visit) {
  visit("axis", a.axis);
  visit("count", a.count);
  visit("largest", a.largest);
}
template <typename Visitor>
void visit_fields(SuppressAttrs& a, Visitor&& visit) {
  visit("max_kept", a.max_kept);
}

// The same over whichever attributes a node holds.
template <typename Visitor>
void visit_attrs(Attrs& attrs, Visitor&& visit) {
  std::visit([&](auto& held) { visit_fields(held, visit); }, attrs);
}
template <typename Visitor>
void visit_attrs(const Attrs& attrs, Visitor&& visit) {
  visit_attrs(const_cast<Attrs&>(attrs),
              [&](std::string_view name, const auto& field) { visit(name, field); });
}

}  // namespace camshaft::ir
