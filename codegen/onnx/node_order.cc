// SPDX-License-Identifier: MIT
#include "codegen/onnx/node_order.h"

#include <functional>
#include <queue>
#include <unordered_map>

#include "codegen/onnx/format.h"

namespace camshaft::onnx {
namespace {

// Which node makes each name. A name made twice keeps its first maker.
std::unordered_map<std::string, int> makers_of(const ::onnx::GraphProto& graph,
                                               std::vector<Problem>* problems) {
  std::unordered_map<std::string, int> makers;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (output.empty()) continue;
      const auto [place, is_new] = makers.emplace(output, i);
      if (is_new) continue;
      problems->push_back(
          {base::Code::kCorrupt, node_label(graph.node(i)), graph.node(i).op_type(),
           format_text("its output '%s' is already made by node '%s'", printable(output).c_str(),
                       printable(node_label(graph.node(place->second))).c_str())});
    }
  }
  return makers;
}

}  // namespace

std::string node_label(const ::onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return "(unnamed)";
}

std::vector<const ::onnx::NodeProto*> order_nodes(const ::onnx::GraphProto& graph,
                                                  std::vector<Problem>* problems) {
  const std::unordered_map<std::string, int> makers = makers_of(graph, problems);
  const auto count = static_cast<size_t>(graph.node_size());
  std::vector<std::vector<int>> readers(count);
  std::vector<int> waits_for(count, 0);
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : graph.node(i).input()) {
      const auto maker = makers.find(input);
      if (maker == makers.end()) continue;
      readers[static_cast<size_t>(maker->second)].push_back(i);
      ++waits_for[static_cast<size_t>(i)];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (waits_for[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  std::vector<const ::onnx::NodeProto*> order;
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    order.push_back(&graph.node(next));
    for (const int reader : readers[static_cast<size_t>(next)]) {
      if (--waits_for[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    if (waits_for[static_cast<size_t>(i)] == 0) continue;
    problems->push_back({base::Code::kCorrupt, node_label(graph.node(i)), graph.node(i).op_type(),
                         "is on a cycle of nodes, or after one"});
  }
  return order;
}

}  // namespace camshaft::onnx
