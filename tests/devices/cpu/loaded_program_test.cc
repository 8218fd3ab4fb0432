// SPDX-License-Identifier: MIT
#include "devices/cpu/loaded_program.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>
#include <utility>

#include "tests/devices/cpu/memory_calls.h"
#include "tests/support/compile_kernels.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using cpu::LoadedProgram;
using test::RecordedMemoryCalls;

namespace {

constexpr const char* kText = R"(
static const uint32_t odd[4] = {1, 3, 5, 7};
static const uint32_t even[4] = {2, 4, 6, 8};
static const uint32_t* const volatile tables[2] = {odd, even};
void choose(void* const* params, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) ((uint32_t*)params[0])[i] = tables[i & 1][i & 3];
}
)";

struct Fixture {
  std::vector<std::byte> binary = test::compile_kernels(kText);
  cpu::ElfImage image = std::move(*cpu::parse_elf(binary, 4096));
  RecordedMemoryCalls calls;

  void check_it_runs(const LoadedProgram& program) const {
    uint32_t out[4] = {};
    void* const params[] = {out};
    program.function (*image.find("choose"))(params, 0, 4);
    CHECK(out[0] == 1);
    CHECK(out[1] == 4);
    CHECK(out[2] == 5);
    CHECK(out[3] == 8);
  }
};

// The protections of the process' pages in a range, as in "r-xp".
std::vector<std::string> protections_in(uint64_t start, uint64_t end) {
  std::vector<std::string> found;
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  unsigned long first = 0;
  unsigned long last = 0;
  char flags[8];
  while (maps != nullptr && std::fscanf(maps, "%lx-%lx %7s%*[^\n]", &first, &last, flags) == 3) {
    if (first < end && last > start) found.push_back(flags);
  }
  if (maps != nullptr) std::fclose(maps);
  return found;
}

}  // namespace

TEST_CASE("kernels run from pages that were never writable", "[cpu]") {
  Fixture f;
  {
    const auto program = LoadedProgram::map(f.image, f.calls);
    REQUIRE(program);
    f.check_it_runs(*program);
    for (const RecordedMemoryCalls::Mapping& mapping : f.calls.mappings) {
      CHECK((mapping.protection & PROT_WRITE) == 0);
    }
    CHECK(f.calls.protections.empty());
    CHECK(f.calls.open_files == 0);
    REQUIRE(f.calls.mapped.size() == 1);
    const auto start = reinterpret_cast<uint64_t>(f.calls.mapped.begin()->first);
    const std::vector<std::string> flags = protections_in(start, start + f.image.memory_bytes);
    CHECK(flags.size() >= 3);
    for (const std::string& flag : flags) CHECK(flag[1] == '-');
  }
  CHECK(f.calls.mapped.empty());
}

TEST_CASE("anonymous pages stand in where there are no memory files", "[cpu]") {
  for (const char* call : {"create_memory_file", "write_at", "seal", "map_file"}) {
    Fixture f;
    f.calls.failing[call] = true;
    const auto program = LoadedProgram::map(f.image, f.calls);
    REQUIRE(program);
    f.check_it_runs(*program);
    CHECK(f.calls.open_files == 0);
    for (const RecordedMemoryCalls::Mapping& mapping : f.calls.mappings) {
      CHECK((mapping.protection & PROT_EXEC) == 0);
    }
    CHECK(f.calls.protections.size() == f.image.segments.size());
    for (const RecordedMemoryCalls::Protection& protection : f.calls.protections) {
      CHECK((protection.protection & PROT_WRITE) == 0);
    }
  }
}

TEST_CASE("where nothing can be mapped, loading fails and leaves nothing behind", "[cpu]") {
  for (const char* call : {"map_new", "map_over", "protect"}) {
    Fixture f;
    f.calls.failing["create_memory_file"] = true;
    f.calls.failing[call] = true;
    CHECK(LoadedProgram::map(f.image, f.calls).error().code() == base::Code::kIo);
    CHECK(test::last_sentence().find("not permitted") != std::string::npos);
    CHECK(f.calls.mapped.empty());
  }
}

TEST_CASE("a loaded program can be moved", "[cpu]") {
  Fixture f;
  {
    LoadedProgram first = std::move(*LoadedProgram::map(f.image, f.calls));
    LoadedProgram second = std::move(first);
    f.check_it_runs(second);
    LoadedProgram third = std::move(*LoadedProgram::map(f.image, f.calls));
    CHECK(f.calls.mapped.size() == 2);
    third = std::move(second);
    f.check_it_runs(third);
  }
  CHECK(f.calls.mapped.empty());
}
