// SPDX-License-Identifier: MIT
#include "codegen/onnx/node_order.h"

#include <functional>
#include <queue>
#include <set>
#include <unordered_map>

#include "codegen/onnx/format.h"

namespace camshaft::onnx {
namespace {

// Which node makes each name. A name made twice keeps its first maker.
std::unordered_map<std::string, int> makers_of(const Nodes& nodes, std::vector<Problem>* problems) {
  std::unordered_map<std::string, int> makers;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].output()) {
      if (output.empty()) continue;
      const auto [place, is_new] = makers.emplace(output, i);
      if (is_new) continue;
      problems->push_back(
          {base::Code::kCorrupt, node_label(nodes[i]), nodes[i].op_type(),
           format_text("its output '%s' is already made by node '%s'", printable(output).c_str(),
                       printable(node_label(nodes[place->second])).c_str())});
    }
  }
  return makers;
}

// Calls visit(name) for each name that the node reads, in its inputs or inside its subgraphs.
template <typename Visit>
void visit_reads(const ::onnx::NodeProto& node, Visit&& visit) {
  for (const std::string& input : node.input()) visit(input);
  const auto visit_graph = [&](const ::onnx::GraphProto& graph) {
    for (const ::onnx::NodeProto& inner : graph.node()) visit_reads(inner, visit);
    for (const ::onnx::ValueInfoProto& output : graph.output()) visit(output.name());
  };
  for (const ::onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) visit_graph(attribute.g());
    for (const ::onnx::GraphProto& graph : attribute.graphs()) visit_graph(graph);
  }
}

}  // namespace

std::string node_label(const ::onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return "(unnamed)";
}

std::vector<const ::onnx::NodeProto*> order_nodes(const Nodes& nodes,
                                                  std::vector<Problem>* problems) {
  const std::unordered_map<std::string, int> makers = makers_of(nodes, problems);
  const auto count = static_cast<size_t>(nodes.size());
  std::vector<std::vector<int>> readers(count);
  std::vector<int> waits_for(count, 0);
  for (int i = 0; i < nodes.size(); ++i) {
    std::set<int> awaited;
    visit_reads(nodes[i], [&](const std::string& name) {
      const auto maker = makers.find(name);
      if (maker != makers.end()) awaited.insert(maker->second);
    });
    for (const int maker : awaited) readers[static_cast<size_t>(maker)].push_back(i);
    waits_for[static_cast<size_t>(i)] = static_cast<int>(awaited.size());
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    if (waits_for[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  std::vector<const ::onnx::NodeProto*> order;
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    order.push_back(&nodes[next]);
    for (const int reader : readers[static_cast<size_t>(next)]) {
      if (--waits_for[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
  }
  for (int i = 0; i < nodes.size(); ++i) {
    if (waits_for[static_cast<size_t>(i)] == 0) continue;
    problems->push_back({base::Code::kCorrupt, node_label(nodes[i]), nodes[i].op_type(),
                         "is on a cycle of nodes, or after one"});
  }
  return order;
}

}  // namespace camshaft::onnx
