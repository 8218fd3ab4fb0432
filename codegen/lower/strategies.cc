// SPDX-License-Identifier: MIT
#include <cstdio>
#include <string_view>

#include "codegen/lower/attention_plan.h"
#include "codegen/lower/channel_runs.h"
#include "codegen/lower/lower.h"
#include "codegen/lower/separable_plan.h"
#include "codegen/lower/strategy_list.h"

namespace camshaft::lower {
namespace {

bool always(const Task&) {
  return true;
}

#define CAMSHAFT_STRATEGY(name) {#name, matches_##name, always, knobs_##name, emit_##name}
#define CAMSHAFT_STRATEGY_THAT_PAYS(name) \
  {#name, matches_##name, pays_##name, knobs_##name, emit_##name}
#define CAMSHAFT_STRATEGY_OF_GPUS(name) \
  {#name, matches_##name, always, knobs_##name, emit_##name, true}
constexpr Strategy kStrategies[] = {
    CAMSHAFT_STRATEGY_OF_GPUS(item_window),
    CAMSHAFT_STRATEGY_OF_GPUS(group_product),
    CAMSHAFT_STRATEGY_OF_GPUS(group_winograd),
    CAMSHAFT_STRATEGY_OF_GPUS(group_rows),
    CAMSHAFT_STRATEGY(conv_separable),
    CAMSHAFT_STRATEGY_THAT_PAYS(conv_depthwise_rows),
    CAMSHAFT_STRATEGY(conv_depthwise),
    CAMSHAFT_STRATEGY(conv_matrix_planar),
    CAMSHAFT_STRATEGY(conv_matrix),
    CAMSHAFT_STRATEGY_THAT_PAYS(conv_winograd),
    CAMSHAFT_STRATEGY(conv_direct),
    CAMSHAFT_STRATEGY_THAT_PAYS(attention_rows),
    CAMSHAFT_STRATEGY(attention),
    CAMSHAFT_STRATEGY_THAT_PAYS(gemv),
    CAMSHAFT_STRATEGY(gemm),
    CAMSHAFT_STRATEGY_THAT_PAYS(pool),
    CAMSHAFT_STRATEGY(pool_rows),
    CAMSHAFT_STRATEGY(reduce),
    CAMSHAFT_STRATEGY(elementwise),
    CAMSHAFT_STRATEGY(scatter),
    CAMSHAFT_STRATEGY(top_k),
    CAMSHAFT_STRATEGY(suppress),
    CAMSHAFT_STRATEGY(fallback),
};
#undef CAMSHAFT_STRATEGY_OF_GPUS
#undef CAMSHAFT_STRATEGY_THAT_PAYS
#undef CAMSHAFT_STRATEGY

}  // namespace

std::span<const Strategy> strategies() {
  return kStrategies;
}

const Strategy* find_strategy(std::string_view name) {
  for (const Strategy& strategy : kStrategies) {
    if (name == strategy.name) return &strategy;
  }
  return nullptr;
}

LoweredKernel lower_region(const Task& task) {
  for (const Strategy& strategy : kStrategies) {
    if (strategy.matches(task) && strategy.pays(task)) {
      return strategy.emit(task, strategy.knobs(task).front());
    }
  }
  CAMSHAFT_CHECK(false && "no strategy matches");
  return {};
}

base::Result<LoweredKernel> lower_region_with(const Task& task, std::string_view name,
                                              const Knobs* knobs) {
  const Strategy* strategy = find_strategy(name);
  if (strategy == nullptr || !strategy->matches(task)) {
    return base::fail(base::Code::kInvalidArgument, "lower.strategy",
                      "strategy '%.*s' can't do region '%s'", static_cast<int>(name.size()),
                      name.data(), task.region.name.c_str());
  }
  return strategy->emit(task, knobs != nullptr ? *knobs : strategy->knobs(task).front());
}

bool pays_to_join(const Task& joined) {
  if (joined.region.pooled != ir::kNoNode) return pays_to_pool(joined);
  if (joined.has_root(ir::Op::kMatMul)) return pays_to_attend(joined);
  return pays_to_gather(joined) || pays_to_separate(joined);
}

Knobs scalar_knobs() {
  Knobs knobs;
  knobs.lanes = knobs.pixels = knobs.vectors = knobs.unroll = 1;
  return knobs;
}

std::string to_string(const Knobs& knobs) {
  char text[64];
  std::snprintf(text, sizeof text, "%dx%dv%du%d", knobs.pixels, knobs.vectors, knobs.lanes,
                knobs.unroll);
  if (knobs.rows > 0) return text + ("r" + std::to_string(knobs.rows));
  if (knobs.winograd == 0) return text;
  char winograd[32];
  std::snprintf(winograd, sizeof winograd, "w%db%d", knobs.winograd, knobs.block);
  return std::string(text) + winograd;
}

}  // namespace camshaft::lower
