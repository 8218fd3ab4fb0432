// SPDX-License-Identifier: MIT
#include "tools/command/verb.h"

namespace camshaft::command {

std::span<const Verb> verbs() {
  static const Verb kVerbs[] = {
      {"compile", kCompileSummary, declare_compile},
      {"tune", "Measure which kernels are fastest here, for compile", declare_tune, true},
      {"run", "Run a plan once on inputs from files", declare_run},
      {"bench", "Measure load time, latency percentiles and missed deadlines", declare_bench},
      {"inspect", "Show what is in a plan, without running it", declare_inspect},
      {"compare", "Compare a plan's outputs with a reference", declare_compare},
      {"devices", "List the devices that plans can run on", declare_devices},
      {"verify", "Check a plan's integrity, signature and golden outputs", declare_verify},
      {"top", "Show the topics of messages: rates, latency, drops, who reads", declare_top},
      {"echo", "Print a topic's messages as they come", declare_echo},
  };
  return kVerbs;
}

}  // namespace camshaft::command
