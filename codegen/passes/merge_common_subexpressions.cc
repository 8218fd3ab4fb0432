// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "codegen/ir/graph_attrs.h"
#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using ir::Op;

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

uint64_t mix_bytes(uint64_t hash, const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), bytes += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof(word));
    hash = mix(hash, word);
  }
  uint64_t tail = 0;
  if (size > 0) std::memcpy(&tail, bytes, size);
  return mix(hash, tail);
}

// Equal nodes have equal hashes. Of a large literal the ends are enough to tell most apart.
uint64_t hash_node(const Node& node) {
  constexpr size_t kHashedBytes = 4096;
  uint64_t hash = mix(static_cast<uint64_t>(node.op), static_cast<uint64_t>(node.type.dtype));
  hash = mix_bytes(hash, node.type.shape.data(), node.type.shape.size() * sizeof(int64_t));
  hash = mix_bytes(hash, node.inputs.data(), node.inputs.size() * sizeof(NodeId));
  const std::string key = ir::attrs_key(node.attrs);
  hash = mix_bytes(hash, key.data(), key.size());
  if (node.op != Op::kConstant) return hash;
  const std::vector<std::byte>& bytes = node.as<ir::ConstantAttrs>().literal->bytes;
  const size_t size = std::min(bytes.size(), kHashedBytes);
  hash = mix_bytes(hash, bytes.data(), size);
  return mix_bytes(hash, bytes.data() + bytes.size() - size, size);
}

}  // namespace

Graph merge_common_subexpressions(const Graph& graph) {
  Rewriter rewriter(graph);
  std::unordered_multimap<uint64_t, NodeId> seen;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).op == Op::kInput) continue;
    const Node node = rewriter.translated(id);
    const uint64_t hash = hash_node(node);
    NodeId twin = kNoNode;
    const auto [first, last] = seen.equal_range(hash);
    for (auto it = first; it != last && twin == kNoNode; ++it) {
      if (equal_nodes(rewriter.out().node(it->second), node)) twin = it->second;
    }
    if (twin == kNoNode) {
      twin = add_node(rewriter.out(), node);
      seen.emplace(hash, twin);
    }
    rewriter.replace(id, twin);
  }
  return remove_dead(rewriter.finish());
}

}  // namespace camshaft::passes
