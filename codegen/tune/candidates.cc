// SPDX-License-Identifier: MIT
#include "codegen/tune/candidates.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace camshaft::tune {
namespace {

// Strategies that can do nearly any region are no competition for one that is made for it.
bool is_general(std::string_view strategy) {
  return strategy == "elementwise" || strategy == "fallback";
}

std::shared_ptr<const ir::Literal> literal_of(const ir::Node& constant) {
  return std::get<ir::ConstantAttrs>(constant.attrs).literal;
}

// All of a strategy's choices, in its order.
void append_all(const lower::Strategy& strategy, const lower::Task& task,
                std::vector<Choice>* choices) {
  for (const lower::Knobs& knobs : strategy.knobs(task)) {
    choices->push_back({strategy.name, knobs});
  }
}

const lower::Strategy& usual_strategy(const lower::Task& task) {
  for (const lower::Strategy& strategy : lower::strategies()) {
    if (strategy.matches(task) && strategy.pays(task)) return strategy;
  }
  return lower::strategies().back();
}

// The usual strategy's choices, then those of each other that is made for such regions; of those
// that `wants` names, since ranking a strategy's choices takes time.
std::vector<std::vector<Choice>> choices_by_strategy(
    const lower::Task& task, const std::function<bool(const lower::Strategy&)>& wants) {
  const lower::Strategy& usual = usual_strategy(task);
  std::vector<std::vector<Choice>> result(1);
  if (wants(usual)) append_all(usual, task, &result[0]);
  if (is_general(usual.name)) return result;
  for (const lower::Strategy& strategy : lower::strategies()) {
    if (&strategy == &usual || is_general(strategy.name) || !wants(strategy)) continue;
    if (task.has_images() && !strategy.is_for_gpus) continue;  // they know buffers only
    if (!strategy.matches(task)) continue;
    result.emplace_back();
    append_all(strategy, task, &result.back());
    // Those made for CPUs are there for devices that are some, which one choice shows.
    if (task.target.is_gpu && !strategy.is_for_gpus) result.back().resize(1);
  }
  return result;
}

// The region as a graph of its own, without names and weights.
std::string region_text(const lower::Task& task) {
  ir::Graph graph;
  std::map<ir::NodeId, ir::NodeId> renamed;
  std::string layouts;
  const auto add_layout = [&](ir::NodeId id) {
    layouts +=
        ' ' + (task.has_buffer(id) ? std::to_string(task.schedule.buffer(id).layout.channel_block)
                                   : std::string("-"));
    if (task.is_image(id)) {
      layouts += " image " + std::to_string(task.schedule.buffer(id).layout.row_texels);
    }
  };
  for (const ir::NodeId leaf : task.region.leaves) {
    renamed[leaf] = graph.add_input("l" + std::to_string(renamed.size()), task.type(leaf));
    const bool is_constant = task.node(leaf).op == ir::Op::kConstant;
    layouts += is_constant ? " w" : " v";
    add_layout(leaf);
  }
  for (const ir::NodeId id : task.region.nodes) {
    const ir::Node& node = task.node(id);
    if (renamed.contains(id)) continue;
    std::vector<ir::NodeId> inputs;
    for (const ir::NodeId input : node.inputs) {
      if (!renamed.contains(input)) {  // a constant that the kernel holds as a number
        renamed[input] = graph.add_constant(literal_of(task.node(input)));
      }
      inputs.push_back(renamed[input]);
    }
    renamed[id] = node.op == ir::Op::kConstant ? graph.add_constant(literal_of(node))
                                               : graph.add(node.op, inputs, node.attrs);
  }
  for (const ir::NodeId id : task.region.written()) {
    graph.add_output(id == task.region.output ? "y" : "pooled", renamed[id]);
    add_layout(id);
  }
  const schedule::ImageLimit& limit = task.schedule.image_limit;
  if (limit.width > 0) {
    layouts += " limit " + std::to_string(limit.width) + "x" + std::to_string(limit.height);
  }
  return ir::print_graph(graph, true) + layouts;
}

}  // namespace

std::vector<Choice> candidates(const lower::Task& task, size_t most) {
  const lower::Strategy* const usual = &usual_strategy(task);
  const std::vector<std::vector<Choice>> by_strategy = choices_by_strategy(
      task, [&](const lower::Strategy& strategy) { return most > 1 || &strategy == usual; });
  std::vector<Choice> result;
  // In turn, so that the first of each strategy is among few.
  for (size_t i = 0; result.size() < most; ++i) {
    bool is_end = true;
    for (const std::vector<Choice>& choices : by_strategy) {
      if (i >= choices.size() || result.size() >= most) continue;
      is_end = false;
      result.push_back(choices[i]);
    }
    if (is_end) break;
  }
  return result;
}

std::optional<Choice> find_candidate(const lower::Task& task, std::string_view strategy,
                                     std::string_view knobs) {
  const auto is_named = [&](const lower::Strategy& each) { return strategy == each.name; };
  for (const std::vector<Choice>& choices : choices_by_strategy(task, is_named)) {
    for (const Choice& choice : choices) {
      if (lower::to_string(choice.knobs) == knobs) return choice;
    }
  }
  return std::nullopt;
}

std::string region_key(const lower::Task& task) {
  const std::string text = region_text(task);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  char key[33];
  std::snprintf(key, sizeof key, "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
  return key;
}

}  // namespace camshaft::tune
