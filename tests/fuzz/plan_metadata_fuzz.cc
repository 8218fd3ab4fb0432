// SPDX-License-Identifier: MIT
// libFuzzer over the metadata of plan files: the input is the metadata section of a file that is
// otherwise whole. Starts from the sample plan, so it needs no seeds.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/fuzz/plan_probe.h"
#include "tests/runtime/plan/patch_plan.h"
#include "tests/runtime/plan/sample_plan.h"

namespace {

namespace plan = camshaft::plan;
using File = std::vector<std::byte>;

const File& sample() {
  static const File file = plan::test::write_sample();
  return file;
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned) {
  const plan::TableEntry metadata = plan::decode_entry(sample().data() + plan::kHeaderBytes);
  if (size >= 64 || max_size < metadata.size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, sample().data() + metadata.offset, metadata.size);
  return metadata.size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const File file = plan::test::with_metadata(sample(), std::as_bytes(std::span(data, size)));
  const plan::test::Probe probe = plan::test::probe_plan(file);
  if (!probe.broken_promise.empty()) {
    std::fprintf(stderr, "%s\n", probe.broken_promise.c_str());
    std::abort();
  }
  return 0;
}
