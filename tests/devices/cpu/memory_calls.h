// SPDX-License-Identifier: MIT
// Memory calls for tests: the real ones, written down, and failing where a test wants that.
#pragma once

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "devices/hwio/memory.h"

namespace camshaft::test {

class RecordedMemoryCalls final : public hwio::MemoryCalls {
 public:
  struct Mapping {
    size_t size_bytes = 0;
    int protection = 0;
    int flags = 0;
    bool is_file = false;
  };
  struct Protection {
    size_t size_bytes = 0;
    int protection = 0;
  };

  // Names of calls that fail with EPERM: "create_memory_file", "map_file", ...
  std::map<std::string, bool> failing;
  std::vector<Mapping> mappings;
  std::vector<Protection> protections;
  std::vector<int> advices;
  std::map<const void*, size_t> mapped;  // not unmapped yet; parts mapped over others don't count
  int open_files = 0;

  int create_memory_file(const char* name) override {
    if (failing["create_memory_file"]) return -EPERM;
    const int fd = real_.create_memory_file(name);
    open_files += fd >= 0 ? 1 : 0;
    return fd;
  }
  int write_at(int fd, base::Bytes bytes, uint64_t offset) override {
    return failing["write_at"] ? -EPERM : real_.write_at(fd, bytes, offset);
  }
  int seal(int fd) override { return failing["seal"] ? -EPERM : real_.seal(fd); }
  void close(int fd) override {
    --open_files;
    real_.close(fd);
  }
  int map(void* at, size_t size_bytes, int protection, int flags, int fd, uint64_t offset,
          void** result) override {
    const char* kind = fd >= 0 ? "map_file" : at == nullptr ? "map_new" : "map_over";
    if (failing[kind]) return -EPERM;
    const int failed = real_.map(at, size_bytes, protection, flags, fd, offset, result);
    if (failed == 0) {
      mappings.push_back({size_bytes, protection, flags, fd >= 0});
      if (at == nullptr) mapped[*result] = size_bytes;
    }
    return failed;
  }
  int protect(void* at, size_t size_bytes, int protection) override {
    if (failing["protect"]) return -EPERM;
    protections.push_back({size_bytes, protection});
    return real_.protect(at, size_bytes, protection);
  }
  void unmap(void* at, size_t size_bytes) override {
    if (mapped[at] == size_bytes) mapped.erase(at);
    real_.unmap(at, size_bytes);
  }
  void advise(void* at, size_t size_bytes, int advice) override {
    advices.push_back(advice);
    real_.advise(at, size_bytes, advice);
  }

 private:
  hwio::MemoryCalls& real_ = hwio::system_memory_calls();
};

}  // namespace camshaft::test
