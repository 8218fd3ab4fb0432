// SPDX-License-Identifier: MIT
#include "tools/command/schedule_graph.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "tools/command/text.h"
#include "tools/io/tensor.h"

namespace camshaft::command {
namespace {

class Builder {
 public:
  Builder(const plan::PlanInfo& info, const plan::TargetInfo& target)
      : info_(info), target_(target) {}

  ScheduleGraph build() {
    graph_.title = info_.model_name + " for " + target_.target;
    add_nodes();
    for (size_t i = 0; i < target_.commands.size(); ++i) {
      for (const plan::ArgInfo& arg : target_.commands[i].args) add_argument(i, arg);
    }
    return std::move(graph_);
  }

 private:
  void add_nodes() {
    for (const plan::TensorInfo& input : info_.inputs) {
      add_node(NodeKind::kInput, input.name, io::type_text(input.dtype, input.shape));
    }
    first_state_ = graph_.nodes.size();
    for (const plan::StateInfo& state : target_.states) {
      add_node(NodeKind::kState, state.name, bytes_text(state.size_bytes));
    }
    first_command_ = graph_.nodes.size();
    for (const plan::CommandInfo& command : target_.commands) {
      const bool is_copy = command.kind == plan::CommandKind::kCopy;
      const std::string strategy = is_copy ? "copy" : target_.kernels[command.kernel].strategy;
      add_node(NodeKind::kCommand, command.name, strategy + " " + command.description);
    }
    first_output_ = graph_.nodes.size();
    for (const plan::TensorInfo& output : info_.outputs) {
      add_node(NodeKind::kOutput, output.name, io::type_text(output.dtype, output.shape));
    }
    output_writer_.resize(info_.outputs.size());
  }

  void add_node(NodeKind kind, const std::string& title, const std::string& detail) {
    graph_.nodes.push_back({kind, printable(title), printable(detail)});
  }
  void add_edge(size_t from, size_t to) {
    if (edges_.insert({from, to}).second) graph_.edges.push_back({from, to});
  }

  void add_argument(size_t command, const plan::ArgInfo& arg) {
    const size_t node = first_command_ + command;
    switch (arg.space) {
      case plan::Space::kInput:
        return add_edge(arg.index, node);
      case plan::Space::kState:
        return add_edge(first_state_ + arg.index, node);
      case plan::Space::kOutput:
        return add_output(arg.index, node);
      case plan::Space::kArena:
        if (const std::optional<uint32_t> writer = writer_of(arg, command)) {
          add_edge(first_command_ + *writer, node);
        }
        return;
      case plan::Space::kWeights:
        return;
    }
  }

  // The first command that names an output writes it; others read what it wrote.
  void add_output(uint32_t index, size_t node) {
    std::optional<size_t>& writer = output_writer_[index];
    if (writer && *writer != node) return add_edge(*writer, node);
    writer = node;
    add_edge(node, first_output_ + index);
  }

  // The command whose result the argument is; nothing where the command itself writes it.
  std::optional<uint32_t> writer_of(const plan::ArgInfo& arg, size_t command) const {
    for (const plan::ArenaBlock& block : target_.arena_blocks) {
      const bool is_there = arg.offset_bytes >= block.offset_bytes &&
                            arg.offset_bytes < block.offset_bytes + block.size_bytes;
      if (is_there && block.first_command < command && command <= block.last_command) {
        return block.first_command;
      }
    }
    return std::nullopt;
  }

  const plan::PlanInfo& info_;
  const plan::TargetInfo& target_;
  ScheduleGraph graph_;
  std::set<std::pair<size_t, size_t>> edges_;
  std::vector<std::optional<size_t>> output_writer_;
  size_t first_state_ = 0;
  size_t first_command_ = 0;
  size_t first_output_ = 0;
};

std::string dot_text(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

}  // namespace

ScheduleGraph make_schedule_graph(const plan::PlanInfo& info, const plan::TargetInfo& target) {
  return Builder(info, target).build();
}

std::string to_dot(const ScheduleGraph& graph) {
  std::string text = "digraph plan {\n  label=\"" + dot_text(printable(graph.title)) +
                     "\";\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    const char* style = node.kind == NodeKind::kCommand ? "" : ", style=rounded";
    text += format_text("  n%zu [label=\"%s\\n%s\"%s];\n", i, dot_text(node.title).c_str(),
                        dot_text(node.detail).c_str(), style);
  }
  for (const GraphEdge& edge : graph.edges) {
    text += format_text("  n%zu -> n%zu;\n", edge.from, edge.to);
  }
  return text + "}\n";
}

}  // namespace camshaft::command
