// SPDX-License-Identifier: MIT
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "codegen/schedule/schedule.h"
#include "codegen/tune/candidates.h"
#include "codegen/tune/tuning_db.h"
#include "tests/support/temporary_folder.h"

namespace camshaft::tune {
namespace {

schedule::Schedule schedule_of(const std::string& text) {
  base::Result<ir::Graph> graph = ir::parse_graph(text);
  REQUIRE(graph);
  return schedule::make_schedule(*graph, {});
}

// A pointwise convolution and an activation.
std::string conv_text(const std::string& name, int width, const char* seed,
                      const char* activation) {
  const std::string type = " : f32[1x16x8x" + std::to_string(width) + "]";
  return "graph \"g\" {\n  %0 = input \"" + name + "\"" + type + "\n  %1 = constant {seed " + seed +
         "} : f32[16x16x1x1]\n" +
         "  %2 = conv(%0, %1) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], "
         "groups=1}" +
         type + "\n  %3 = " + activation + "(%2)" + type + "\n  output \"y\" = %3\n}\n";
}

TEST_CASE("a key depends on what is computed, not on names and weights") {
  render::CpuTarget target;
  const auto key = [&](const std::string& text) {
    const schedule::Schedule schedule = schedule_of(text);
    for (const schedule::Region& region : schedule.regions) {
      if (region.root != ir::kNoNode) return region_key({schedule, region, target});
    }
    return std::string();
  };
  const std::string first = key(conv_text("x", 12, "1", "sqrt"));
  CHECK(first.size() == 32);
  CHECK(key(conv_text("image", 12, "1", "sqrt")) == first);
  CHECK(key(conv_text("x", 12, "2", "sqrt")) == first);
  CHECK(key(conv_text("x", 13, "1", "sqrt")) != first);
  CHECK(key(conv_text("x", 12, "1", "abs")) != first);
}

TEST_CASE("the usual choice comes first, and each candidate is found again by its names") {
  render::CpuTarget target;
  const schedule::Schedule schedule = schedule_of(conv_text("x", 12, "1", "sqrt"));
  int checked = 0;
  for (const schedule::Region& region : schedule.regions) {
    const lower::Task task{schedule, region, target};
    const std::vector<Choice> all = candidates(task, 100);
    const lower::LoweredKernel usual = lower::lower_region(task);
    REQUIRE_FALSE(all.empty());
    CHECK(all.front().strategy == usual.strategy);
    CHECK(all.front().knobs == usual.knobs);
    CHECK(candidates(task, 1).size() == 1);
    for (const Choice& choice : all) {
      const auto found = find_candidate(task, choice.strategy, lower::to_string(choice.knobs));
      REQUIRE(found);
      CHECK(lower::to_string(found->knobs) == lower::to_string(choice.knobs));
    }
    if (region.root == ir::kNoNode) continue;
    ++checked;
    CHECK(all.size() > 3);
    CHECK_FALSE(find_candidate(task, all.front().strategy, "99x9v8u8"));
    CHECK_FALSE(find_candidate(task, "fallback", lower::to_string(all.front().knobs)));
  }
  CHECK(checked == 1);
}

TEST_CASE("a database comes back as it was saved") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "db";
  TuningDb db;
  db.put("llvm:znver3", 2, "k", {"conv_direct", "6x2v8u8", "1x1 \"quoted\" \xff", 1.25, 2.5});
  db.put("llvm:znver3", 1, "k", {"gemm", "1x1v8u8", "", 0, 0});
  REQUIRE(db.add_to(path));
  const base::Result<TuningDb> again = TuningDb::load(path);
  REQUIRE(again);
  CHECK(again->size() == 2);
  REQUIRE(again->find("llvm:znver3", 2, "k") != nullptr);
  CHECK(again->find("llvm:znver3", 2, "k")->knobs == "6x2v8u8");
  CHECK(again->find("llvm:znver3", 2, "k")->microseconds == 1.25);
  CHECK(again->find("llvm:znver3", 3, "k") == nullptr);
  CHECK(again->find("cpu:znver3", 2, "k") == nullptr);
  CHECK_FALSE(TuningDb::load(folder / "none"));
}

TEST_CASE("processes that add to one database at the same time lose nothing") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "db";
  std::filesystem::create_symlink("db", folder / "link");
  constexpr int kProcesses = 4;
  constexpr int kEntries = 25;  // of each process, and as many that all have
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(::fork());
    REQUIRE(children.back() >= 0);
    if (children.back() != 0) continue;
    bool good = true;
    for (int i = 0; i < kEntries; ++i) {
      TuningDb db;
      db.put("llvm:znver3", process, "own" + std::to_string(i), {"gemm", "1x1v8u8", "", 1, 2});
      db.put("llvm:znver3", 9, "shared" + std::to_string(i), {"gemm", "1x1v8u8", "", 1, 2});
      good = good && db.add_to(i % 2 == 0 ? path : folder / "link");
    }
    ::_exit(good ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  const base::Result<TuningDb> all = TuningDb::load(path);
  REQUIRE(all);
  CHECK(all->size() == kEntries * (kProcesses + 1));
  CHECK_FALSE(std::filesystem::exists(path + ".lock"));
}

TEST_CASE("what a killed process left locked is not waited for, and a damaged file stays") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "db";
  std::ofstream(path + ".lock") << "";  // its name alone is no lock
  TuningDb db;
  db.put("llvm:znver3", 1, "k", {"gemm", "1x1v8u8", "", 1, 2});
  REQUIRE(db.add_to(path));
  CHECK(TuningDb::load(path)->size() == 1);
  std::ofstream(path) << "no database\n";
  CHECK(db.add_to(path).error().code() == base::Code::kCorrupt);
  CHECK(std::filesystem::file_size(path) == 12);
  CHECK_FALSE(std::filesystem::exists(path + ".lock"));
  CHECK(db.add_to(folder / "none/db").error().code() == base::Code::kIo);
}

}  // namespace
}  // namespace camshaft::tune
