// SPDX-License-Identifier: MIT
// What is written is read again, in the form that FORMAT.md gives.
#include <algorithm>
#include <cstring>
#include <string>

#include <catch2/catch.hpp>

#include "runtime/base/file.h"
#include "runtime/plan/format.h"
#include "runtime/plan/reader.h"
#include "runtime/plan/writer.h"
#include "tests/runtime/plan/patch_plan.h"
#include "tests/runtime/plan/sample_plan.h"
#include "tests/support/temporary_folder.h"

namespace camshaft::plan {
namespace {

using base::Bytes;
using base::load_le;

bool is_equal(Bytes a, Bytes b) {
  return std::ranges::equal(a, b);
}

TEST_CASE("a plan comes back as it was written") {
  const PlanContents contents = test::make_sample();
  const PlanFile plan = PlanFile::from_bytes(write_plan(contents).value()).value();
  CHECK(plan.info() == contents.info);
  REQUIRE(plan.sections().size() == contents.sections.size() + 1);
  for (size_t i = 0; i < contents.sections.size(); ++i) {
    const SectionView& section = plan.sections()[i + 1];
    CHECK(section.kind == contents.sections[i].kind);
    CHECK(section.flags == contents.sections[i].flags);
    CHECK(is_equal(section.bytes, contents.sections[i].bytes));
  }
  const TargetInfo& target = plan.info().targets[1];
  CHECK(is_equal(plan.weights(target), contents.sections[0].bytes));
  CHECK(is_equal(plan.binary(target), contents.sections[3].bytes));
  CHECK(is_equal(plan.source(target), contents.sections[4].bytes));
  CHECK(is_equal(plan.golden_inputs(plan.info().goldens[0]), contents.sections[5].bytes));
  CHECK(is_equal(plan.golden_outputs(plan.info().goldens[0]), contents.sections[6].bytes));
  CHECK(is_equal(plan.frozen_values(), contents.sections[7].bytes));
  CHECK(!plan.signer());
}

TEST_CASE("equal contents give equal bytes, others give others") {
  const std::vector<std::byte> first = test::write_sample();
  CHECK(first == test::write_sample());
  PlanContents other = test::make_sample();
  other.info.targets[1].commands[0].flops += 1;
  CHECK(first != write_plan(other).value());
}

TEST_CASE("images come back, with what the file leaves out") {
  PlanContents contents = test::make_sample();
  std::vector<ArgInfo>& args = contents.info.targets[0].commands[0].args;
  args[0].image = {.width = 16, .height = 3, .row_pitch_bytes = 256};
  args[2].image = {DType::kFloat16, 50, 2, 512};
  const auto bytes = write_plan(contents);
  REQUIRE(bytes);
  const auto plan = PlanFile::from_bytes(*bytes);
  REQUIRE(plan);
  CHECK(plan->info() == contents.info);
}

TEST_CASE("large metadata stays one segment and comes back") {
  PlanContents contents = test::make_sample();
  TargetInfo& target = contents.info.targets[0];
  for (int i = 0; i < 3000; ++i) {
    target.commands.push_back(target.commands[0]);
    target.commands.back().name = "layer" + std::to_string(i) + std::string(i % 70, 'n');
  }
  const std::vector<std::byte> file = write_plan(contents).value();
  const PlanFile plan = PlanFile::from_bytes(file).value();
  CHECK(plan.info() == contents.info);
  CHECK(load_le<uint32_t>(plan.sections()[0].bytes.data()) == 0);  // number of segments, less one
}

TEST_CASE("a file has the layout of FORMAT.md") {
  const std::vector<std::byte> file = test::write_sample();
  const std::byte* at = file.data();
  CHECK(std::memcmp(at,
                    "\x89"
                    "CSP\r\n\x1a\n",
                    8) == 0);
  CHECK(load_le<uint32_t>(at + 8) == 2);
  CHECK(load_le<uint32_t>(at + 12) == 0);
  CHECK(load_le<uint64_t>(at + 16) == file.size());
  CHECK(load_le<uint32_t>(at + 24) == 10);
  CHECK(load_le<uint32_t>(at + 28) == 0);
  const Hash128 header_hash = checksum(base::slice(file, 0, 48));
  CHECK(load_le<uint64_t>(at + 48) == header_hash.low);
  CHECK(load_le<uint64_t>(at + 56) == header_hash.high);

  const std::byte* weights = at + 64 + 48;  // the second entry
  CHECK(load_le<uint32_t>(weights) == 3);
  CHECK(load_le<uint32_t>(weights + 4) == 1);
  CHECK(load_le<uint64_t>(weights + 8) == 4096);
  CHECK(load_le<uint64_t>(weights + 16) == 500);
  CHECK(load_le<uint32_t>(weights + 24) == 4096);
  const Hash128 hash = checksum(base::slice(file, 4096, 500));
  CHECK(load_le<uint64_t>(weights + 32) == hash.low);
  CHECK(load_le<uint64_t>(weights + 40) == hash.high);
  CHECK(file.size() % 64 == 0);
}

TEST_CASE("checksums are those of the xxHash tools") {
  // `printf '' | xxh128sum` and `printf camshaft | xxh128sum`.
  CHECK(to_hex(checksum({})) == "99aa06d3014798d86001c324468d497f");
  CHECK(to_hex(checksum(base::as_bytes("camshaft"))) == "2c6951041f0a1c457f31a208c4d6e5db");
}

TEST_CASE("sections are aligned in memory, mapped or copied") {
  const camshaft::test::TemporaryFolder folder;
  const std::string path = folder / "sample.plan";
  const std::vector<std::byte> file = test::write_sample();
  REQUIRE(base::write_file_atomically(path, file).is_ok());
  const auto check = [](const PlanFile& plan) {
    for (const SectionView& section : plan.sections()) {
      const uint32_t alignment = find_section_kind(section.kind)->alignment;
      CHECK(reinterpret_cast<uintptr_t>(section.bytes.data()) % alignment == 0);
    }
  };
  check(PlanFile::open(path).value());
  check(PlanFile::from_bytes(file).value());
}

TEST_CASE("a plan that moves keeps its views") {
  PlanFile first = PlanFile::from_bytes(test::write_sample()).value();
  const Bytes weights = first.weights(first.info().targets[0]);
  const PlanFile second = std::move(first);
  CHECK(second.weights(second.info().targets[0]).data() == weights.data());
  CHECK(weights[1] == std::byte{8});
}

TEST_CASE("sections may be empty, and targets may do without weights") {
  PlanContents contents = test::make_sample();
  contents.sections[2].bytes.clear();  // a source
  for (TargetInfo& target : contents.info.targets) {
    target.weights_section = 0;
    target.commands[0].args[1] = {Space::kWeights, 0, 0, 0};
  }
  const PlanFile plan = PlanFile::from_bytes(write_plan(contents).value()).value();
  CHECK(plan.weights(plan.info().targets[0]).empty());
  CHECK(plan.source(plan.info().targets[0]).empty());
}

TEST_CASE("what is in place of a patched file is what patching wanted") {
  const std::vector<std::byte> file = test::write_sample();
  std::vector<std::byte> same = file;
  test::fix_checksums(same);
  CHECK(same == file);
  const PlanFile plan = PlanFile::from_bytes(file).value();
  CHECK(test::with_metadata(file, plan.sections()[0].bytes) == file);
}

}  // namespace
}  // namespace camshaft::plan
