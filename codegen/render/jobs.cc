// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <thread>

#include "codegen/render/compile.h"

namespace camshaft::render {

base::Status run_jobs(size_t count, const std::function<base::Status(size_t)>& job) {
  std::vector<base::Status> results(count);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) results[i] = job(i);
  };
  const size_t cores = std::max<size_t>(1, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(cores, count); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  for (const base::Status& status : results) {
    if (!status.is_ok()) return status;
  }
  return base::ok();
}

}  // namespace camshaft::render
