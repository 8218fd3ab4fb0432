// SPDX-License-Identifier: MIT
// The kernels of a plan's target, a line each: what they compute, how much, and, where they were
// measured, how fast.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "tools/command/peak.h"
#include "tools/io/json.h"

namespace camshaft::command {

// What `bench --kernels` measured.
struct KernelProfile {
  std::vector<double> seconds;        // of each command: the median of its runs
  std::optional<double> peak_gflops;  // of one thread
};

// A table; the columns of a profile only with one. On a terminal, long names, as those of kernels
// that do the work of several nodes, lose their middle.
std::string kernels_text(const plan::TargetInfo& target, const KernelProfile* profile,
                         bool is_for_terminal);

// A list of {"index", "name", "description", "kernel", "strategy", "parts", "flops", "bytes",
// "flops_share", "launch"}, with a profile also "us", "time_share", "gflops", "gbytes_per_s",
// "peak_share". A launch is {"grid", "group", "arguments"}, an argument {"space", "index",
// "offset", "bytes"}, of images also "image": {"dtype", "width", "height"}; a copy's are source,
// destination.
io::Json kernels_json(const plan::TargetInfo& target, const KernelProfile* profile);

// The profile in a document that `bench --kernels --json` printed. kInvalidArgument where it is
// none, or was made with another plan than this target's.
base::Result<KernelProfile> read_profile(const std::string& path, const plan::TargetInfo& target);

}  // namespace camshaft::command
