// SPDX-License-Identifier: MIT
// A plan's commands as a graph of who reads what whom wrote, and as pictures of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace camshaft::command {

enum class NodeKind : uint8_t { kInput, kCommand, kState, kOutput };

struct GraphNode {
  NodeKind kind = NodeKind::kCommand;
  std::string title;   // name of the command, input, ...
  std::string detail;  // shapes, strategy
};
struct GraphEdge {
  size_t from = 0;
  size_t to = 0;
};
struct ScheduleGraph {
  std::string title;
  std::vector<GraphNode> nodes;  // inputs, states, commands in order, outputs; edges but a state's
                                 // own update go from lower numbers to higher ones
  std::vector<GraphEdge> edges;  // no two the same
};

// Who wrote the arena bytes that a command reads follows from the arena map: a block is written by
// the first command of its lifetime.
ScheduleGraph make_schedule_graph(const plan::PlanInfo& info, const plan::TargetInfo& target);

// For Graphviz.
std::string to_dot(const ScheduleGraph& graph);

// A picture of its own: a row for each step of depth, boxes and curves.
std::string to_svg(const ScheduleGraph& graph);

}  // namespace camshaft::command
