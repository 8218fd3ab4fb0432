// SPDX-License-Identifier: MIT
#include "codegen/ir/graph_attrs.h"

namespace camshaft::ir {
namespace {

template <typename T>
void append_bytes(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
template <typename T>
void append_bytes(std::string& key, const std::vector<T>& values) {
  append_bytes(key, values.size());
  for (const T& value : values) append_bytes(key, value);
}

}  // namespace

std::string attrs_key(const Attrs& attrs) {
  std::string key(1, static_cast<char>(attrs.index()));
  visit_attrs(attrs, [&](std::string_view, const auto& field) { append_bytes(key, field); });
  return key;
}

Attrs default_attrs(Op op) {
  switch (op) {
    case Op::kConstant:
      return ConstantAttrs{};
    case Op::kCast:
    case Op::kBitcast:
      return CastAttrs{DType::kFloat32};
    case Op::kReshape:
      return ReshapeAttrs{};
    case Op::kTranspose:
      return TransposeAttrs{};
    case Op::kBroadcast:
      return BroadcastAttrs{};
    case Op::kSlice:
      return SliceAttrs{};
    case Op::kPad:
      return PadAttrs{};
    case Op::kConcat:
      return ConcatAttrs{};
    case Op::kReduce:
      return ReduceAttrs{};
    case Op::kArgReduce:
      return ArgReduceAttrs{};
    case Op::kScan:
      return ScanAttrs{};
    case Op::kMatMul:
      return {};
    case Op::kConv:
      return ConvAttrs{};
    case Op::kPool:
      return PoolAttrs{};
    case Op::kGather:
      return GatherAttrs{};
    case Op::kScatter:
      return ScatterAttrs{};
    case Op::kTopK:
      return TopKAttrs{};
    case Op::kSuppress:
      return SuppressAttrs{};
    default:
      return {};
  }
}

}  // namespace camshaft::ir
