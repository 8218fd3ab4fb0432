// SPDX-License-Identifier: MIT
#include "codegen/lower/attention_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "codegen/lower/attention_plan.h"
#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

constexpr int kRows = 40, kKeys = 45, kDepth = 8;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLowest = -3.4028234663852886e38;

using Sees = std::function<bool(int row, int key)>;

bool causal(int row, int key) {
  return key <= row;
}
bool window(int row, int key) {
  return key <= row && key + 7 > row;
}

std::string numbers(const Sees& sees, const char* seen, const std::string& other) {
  std::string text;
  for (int row = 0; row < kRows; ++row) {
    for (int key = 0; key < kKeys; ++key) {
      text += (text.empty() ? "" : ", ") + (sees(row, key) ? std::string(seen) : other);
    }
  }
  return text;
}

std::string number(double value) {
  if (value == -kInfinity) return "-inf";
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// `stages` makes %x of the scores, %s.
std::string graph_text(const std::string& stages) {
  return R"(graph "g" {
    %q = input "q" : f32[1x2x40x8]
    %k = input "k" : f32[1x2x45x8]
    %v = input "v" : f32[1x2x45x8]
    %kt = transpose(%k) {perm=[0,1,3,2]}
    %s = matmul(%q, %kt)
    )" + stages +
         R"(
    %m = reduce(%x) {kind=max, axes=[3]}
    %mb = broadcast(%m) {shape=[1,2,40,45]}
    %d = sub(%x, %mb)
    %e = exp(%d)
    %z = reduce(%e) {kind=sum, axes=[3]}
    %zb = broadcast(%z) {shape=[1,2,40,45]}
    %p = div(%e, %zb)
    %y = matmul(%p, %v)
    output "y" = %y
  })";
}

std::string shaped(const std::string& name) {
  return "%" + name + " = broadcast(%" + name + "1) {shape=[1,2,40,45]}\n";
}

std::string added(const Sees& sees, double low, bool is_input = false) {
  const std::string from =
      is_input ? "input \"mask\"" : "constant {" + numbers(sees, "0", number(low)) + "}";
  return "%a1 = " + from + " : f32[1x1x40x45]\n" + shaped("a") + "%x = add(%s, %a)\n";
}

std::string selected(const Sees& sees, double low) {
  return "%c1 = constant {" + numbers(sees, "1", "0") + "} : bool[1x1x40x45]\n" + shaped("c") +
         "%l1 = constant {" + number(low) + "} : f32[1x1x1x1]\n" + shaped("l") +
         "%x = select(%c, %s, %l)\n";
}

// As of positions: nothing of it is a literal of all keys.
std::string compared(double low) {
  std::string positions[2];
  for (int i = 0; i < kKeys; ++i) {
    positions[0] += (i == 0 ? "" : ", ") + std::to_string(i);
    if (i < kRows) positions[1] += (i == 0 ? "" : ", ") + std::to_string(i);
  }
  return "%i1 = constant {" + positions[0] + "} : i32[1x1x1x45]\n" + shaped("i") +
         "%j1 = constant {" + positions[1] + "} : i32[1x1x40x1]\n" + shaped("j") +
         "%c = less_equal(%i, %j)\n%l1 = constant {" + number(low) + "} : f32[1x1x1x1]\n" +
         shaped("l") + "%x = select(%c, %s, %l)\n";
}

struct Joined {
  explicit Joined(const std::string& stages, int threads = 1)
      : graph(parsed(graph_text(stages))), target(test_target(32)) {
    schedule::ScheduleOptions options = {8, true};
    options.joins = [&](const Schedule& of, const Region& region) {
      return find_attention({of, region, target, threads}).has_value();
    };
    schedule = schedule::make_schedule(graph, options);
    REQUIRE(schedule.regions.size() == 1);
  }
  Attention attention() const { return *find_attention({schedule, schedule.regions[0], target}); }
  // In strips of so many rows.
  std::vector<ir::Literal> run(const std::vector<ir::Literal>& inputs, int rows,
                               int threads = 1) const {
    return run_schedule(schedule, inputs, target,
                        [&](const Task& plain) {
                          const Task task{plain.schedule, plain.region, plain.target, threads};
                          const Strategy* strategy = find_strategy("attention");
                          Knobs knobs = strategy->knobs(task).front();
                          knobs.rows = rows;
                          knobs.pixels = 3;
                          knobs.vectors = rows % 3 + 1;
                          knobs.unroll = rows % 2 == 0 ? 8 : 3;
                          return strategy->emit(task, knobs);
                        })
        .outputs;
  }

  ir::Graph graph;
  CpuTarget target;
  Schedule schedule;
};

TEST_CASE("rows see what a known mask leaves") {
  for (const double low : {-kInfinity, kLowest}) {
    for (const std::string& stages : {added(causal, low), selected(causal, low), compared(low)}) {
      const std::vector<KeySpan> seen = Joined(stages).attention().seen;
      REQUIRE(seen.size() == kRows);
      for (int row = 0; row < kRows; ++row) {
        CHECK(seen[static_cast<size_t>(row)] == KeySpan{0, row + 1});
      }
    }
  }
  const std::vector<KeySpan> seen = Joined(added(window, -kInfinity)).attention().seen;
  REQUIRE(seen.size() == kRows);
  CHECK(seen[3] == KeySpan{0, 4});
  CHECK(seen[30] == KeySpan{24, 31});
}

TEST_CASE("rows that see nothing are read whole") {
  const auto sees = [](int row, int key) { return row != 5 && causal(row, key); };
  const std::vector<KeySpan> seen = Joined(added(sees, -kInfinity)).attention().seen;
  REQUIRE(seen.size() == kRows);
  CHECK(seen[5] == KeySpan{0, kKeys});
  CHECK(seen[4] == KeySpan{0, 5});
}

TEST_CASE("masks that don't make a power 0, or are not known, leave all keys") {
  const auto is_all = [](const std::string& stages) {
    return Joined(stages).attention().seen.empty();
  };
  REQUIRE_FALSE(is_all(added(causal, -kInfinity)));
  CHECK(is_all(added(causal, -kInfinity, true)));
  CHECK(is_all(added(causal, -1e4)));
  CHECK(is_all(selected(causal, -1e9)));
  CHECK(is_all("%x = neg(%s)\n"));
  // Something else makes numbers of it afterwards.
  std::string capped = added(causal, -kInfinity);
  capped.replace(capped.find("%x ="), 4, "%u =");
  CHECK(is_all(capped + "%x = tanh(%u)\n"));
  // What is added may be infinite, so that -inf makes no number of it; and may be large, or the
  // scores multiplied by too large a number, so that others are lower still. -inf in its place is
  // what it is.
  const std::string bias = "%b1 = input \"bias\" : f32[1x2x40x45]\n" + shaped("b");
  const std::string large = "%b1 = constant {1e20} : f32[1x1x1x1]\n" + shaped("b");
  const auto after = [&](const std::string& before, std::string stages) {
    const size_t at = stages.rfind("%s");
    return before + stages.replace(at, 2, "%w");
  };
  for (const std::string& before :
       {bias + "%w = add(%s, %b)\n", large + "%w = mul(%s, %b)\n", std::string("%w = exp(%s)\n")}) {
    CHECK(is_all(after(before, added(causal, -kInfinity))));
    CHECK(is_all(after(before, selected(causal, kLowest))));
    CHECK_FALSE(is_all(after(before, selected(causal, -kInfinity))));
  }
  const std::string scale = "%b1 = constant {0.25} : f32[1x1x1x1]\n" + shaped("b");
  CHECK_FALSE(is_all(after(scale + "%w = mul(%s, %b)\n", added(causal, kLowest))));
  CHECK_FALSE(is_all(after("%w = tanh(%s)\n", added(causal, kLowest))));
}

TEST_CASE("a row whose largest score is low, too, is read whole") {
  const auto low_row = [](int row, int) { return row != 5; };
  // All numbers of row 5 stand for -inf, of which the first is the least low.
  std::string text = numbers(low_row, "0", "-3e38");
  text.replace(text.find("-3e38"), 5, "-9e29");
  const std::string stages =
      "%a1 = constant {" + text + "} : f32[1x1x40x45]\n" + shaped("a") + "%w = add(%s, %a)\n";
  std::string causal_too = added(causal, kLowest);
  causal_too.replace(causal_too.find("%a1"), 3, "%h1");
  causal_too.replace(causal_too.find("%a = broadcast(%a1)"), 19, "%h = broadcast(%h1)");
  causal_too.replace(causal_too.find("add(%s, %a)"), 11, "add(%w, %h)");
  const std::vector<KeySpan> seen = Joined(stages + causal_too).attention().seen;
  REQUIRE(seen.size() == kRows);
  CHECK(seen[5] == KeySpan{0, kKeys});
  CHECK(seen[6] == KeySpan{0, 7});
}

// The same bits as with a mask that is only known when running.
TEST_CASE("what no row of a strip sees changes nothing") {
  const auto sparse = [](int row, int key) { return key % 9 == row % 4 || key == 20 + row / 4; };
  const auto partly = [](int row, int key) { return row % 7 != 3 && window(row, key); };
  for (const Sees& sees : {Sees(causal), Sees(window), Sees(sparse), Sees(partly)}) {
    const Joined known(added(sees, -kInfinity));
    const Joined given(added(sees, -kInfinity, true));
    REQUIRE_FALSE(known.attention().seen.empty());
    REQUIRE(given.attention().seen.empty());
    const std::vector<ir::Literal> inputs = seeded_inputs(known.graph);
    std::vector<ir::Literal> with_mask = inputs;
    for (const ir::Node& node : known.graph.nodes()) {
      if (node.op == ir::Op::kConstant) {
        with_mask.push_back(*node.as<ir::ConstantAttrs>().literal);
      }
    }
    REQUIRE(with_mask.size() == 4);
    const std::vector<ir::Literal> usual = known.run(inputs, 7);
    check_against_oracle(known.graph, inputs, usual, 1e-5);
    for (const int rows : {1, 4, 7, 16, 40}) {
      for (const int threads : {1, 3}) {
        CAPTURE(rows, threads);
        CHECK(known.run(inputs, rows, threads)[0].bytes == usual[0].bytes);
      }
      CHECK(given.run(with_mask, rows)[0].bytes == usual[0].bytes);
    }
  }
}

TEST_CASE("finite numbers that stand for -inf, and masks of positions, match the oracle") {
  for (const std::string& stages :
       {selected(window, kLowest), compared(-kInfinity), compared(kLowest)}) {
    const Joined joined(stages);
    const std::vector<ir::Literal> inputs = seeded_inputs(joined.graph);
    for (const int rows : {5, 13}) {
      check_against_oracle(joined.graph, inputs, joined.run(inputs, rows), 1e-5);
    }
  }
}

// 0 * NaN: what is not seen has a say where the formula says so.
TEST_CASE("infinities, large numbers and none make what the oracle makes of them") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::string& stages :
       {added(causal, -kInfinity), selected(causal, -kInfinity), selected(causal, kLowest)}) {
    const Joined joined(stages);
    REQUIRE_FALSE(joined.attention().seen.empty());
    const std::vector<ir::Literal> usual = seeded_inputs(joined.graph);
    for (const float number : {infinity, -infinity, std::nanf(""), 1e30f, -2e9f}) {
      for (const size_t input : {0, 1, 2}) {
        for (const int row : {0, 17, 39}) {
          CAPTURE(stages.substr(0, 20), number, input, row);
          std::vector<ir::Literal> inputs = usual;
          std::memcpy(inputs[input].bytes.data() + (row * kDepth + 3) * sizeof(float), &number,
                      sizeof number);
          const std::vector<ir::Literal> whole = joined.run(inputs, 40);
          check_against_oracle(joined.graph, inputs, whole, 1e-5);
          CHECK(joined.run(inputs, 5, 3)[0].bytes == whole[0].bytes);
        }
      }
    }
  }
}

}  // namespace
}  // namespace camshaft::lower
