// SPDX-License-Identifier: MIT
// The tuning database: for each target, number of threads and region (region_key) what was measured
// to be best. A text file that is kept beside the models: one line an entry, sorted, so that
// changes read well.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/base/status.h"

namespace camshaft::tune {

// Of one region.
struct TuningEntry {
  std::string strategy;
  std::string knobs;  // lower::to_string
  std::string what;   // lower::region_description, for people
  double microseconds = 0;
  double untuned_microseconds = 0;  // of what is taken without tuning
};

class TuningDb {
 public:
  // kNotFound where there is no such file; kCorrupt, with the line, where it is no database.
  static base::Result<TuningDb> load(const std::string& path);
  // Puts these entries into the database of `path`, which is made where there is none, and returns
  // all that it then holds. Its other entries stay, also those that other processes add at the same
  // time: they take turns. After a failure the file is as it was. Fails as load() does, or with
  // kIo.
  base::Result<TuningDb> add_to(const std::string& path) const;

  // Null if there is none. `target` is "llvm:znver3", or what target_on() says.
  const TuningEntry* find(const std::string& target, int threads, const std::string& key) const;
  void put(const std::string& target, int threads, const std::string& key, TuningEntry entry);
  size_t size() const { return entries_.size(); }
  // The devices that entries of a target of GPUs were measured on, each once.
  std::vector<std::string> devices_of(const std::string& target) const;

 private:
  // Replaces the file as a whole.
  base::Status save(const std::string& path) const;

  std::map<std::tuple<std::string, int, std::string>, TuningEntry> entries_;
};

// The name under which a database has a target whose kernels are the same on all devices, but not
// as fast: "opencl on NVIDIA H200 (NVIDIA CUDA)".
std::string target_on(const std::string& target, const std::string& device);

}  // namespace camshaft::tune
