// SPDX-License-Identifier: MIT
#include "codegen/lower/attention_plan.h"

#include <algorithm>
#include <array>

#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

using ir::DType;

enum class Masks { kNone, kBias, kCausal, kAll };

// Attention as models have it: heads are columns of Q, K and V, and of the result.
struct Case {
  int batch = 1, heads = 1, kv_heads = 1;
  int rows = 1, keys = 1;
  int depth = 8, columns = 8;
  Masks mask = Masks::kNone;
  bool is_capped = false;
  bool zero_where_nothing_is_seen = false;
  const char* dtype = "f32";
  double scale = 0.25;
};

std::string list(const std::vector<int>& numbers, const char* between) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : between) + std::to_string(number);
  return text;
}

class Text {
 public:
  explicit Text(const Case& of) : c_(of) {
    const int group = c_.heads / c_.kv_heads;
    scores_ = {c_.batch, c_.kv_heads, group * c_.rows, c_.keys};
    full_ = {c_.batch, c_.heads, c_.rows, c_.keys};
    row_ = {c_.batch, c_.heads, c_.rows, 1};
    inputs();
    line("%s0 = matmul(%qg, %kt)");
    numbers("scale", std::to_string(c_.scale), scores_);
    line("%s1 = mul(%s0, %scale)");
    cap();
    line("%s3 = reshape(%s2) {shape=[" + list(full_, ", ") + "]}");
    mask();
    softmax();
    const bool is_narrow = std::string(c_.dtype) != "f32";
    if (is_narrow) line("%pn = cast(%p) {to=" + std::string(c_.dtype) + "}");
    line(std::string(is_narrow ? "%pg = reshape(%pn)" : "%pg = reshape(%p)") + " {shape=[" +
         list(scores_, ", ") + "]}");
    line("%o0 = matmul(%pg, %vh)");
    line("%o1 = reshape(%o0) {shape=[" + list({c_.batch, c_.heads, c_.rows, c_.columns}, ", ") +
         "]}");
    line("%o2 = transpose(%o1) {perm=[0, 2, 1, 3]}");
    line("%o3 = reshape(%o2) {shape=[" + list({c_.batch * c_.rows, c_.heads * c_.columns}, ", ") +
         "]}");
    line("%w = constant {seed 8} : f32[" + list({c_.heads * c_.columns, 5}, "x") + "]");
    line("%y = matmul(%o3, %w)");
  }
  std::string graph(const std::string& more = "") const {
    return "graph \"g\" {\n" + text_ + more + "output \"y\" = %y\n}";
  }

 private:
  void line(const std::string& more) { text_ += more + "\n"; }
  void numbers(const std::string& name, const std::string& value, const std::vector<int>& shape) {
    line("%" + name + "1 = constant {" + value + "} : f32[1x1x1x1]");
    line("%" + name + " = broadcast(%" + name + "1) {shape=[" + list(shape, ", ") + "]}");
  }

  // Heads of x, or its transpose.
  void heads(const std::string& name, int length, int count, int size, const char* perm) {
    line("%" + name + " = input \"" + name + "\" : " + c_.dtype + "[" +
         list({c_.batch, length, count * size}, "x") + "]");
    line("%" + name + "r = reshape(%" + name + ") {shape=[" +
         list({c_.batch, length, count, size}, ", ") + "]}");
    line("%" + name + "h = transpose(%" + name + "r) {perm=[" + perm + "]}");
  }

  void inputs() {
    heads("q", c_.rows, c_.heads, c_.depth, "0, 2, 1, 3");
    heads("k", c_.keys, c_.kv_heads, c_.depth, "0, 2, 3, 1");
    heads("v", c_.keys, c_.kv_heads, c_.columns, "0, 2, 1, 3");
    line("%qg = reshape(%qh) {shape=[" +
         list({scores_[0], scores_[1], scores_[2], c_.depth}, ", ") + "]}");
    line("%kt = reshape(%kh) {shape=[" + list({c_.batch, c_.kv_heads, c_.depth, c_.keys}, ", ") +
         "]}");
  }

  void cap() {
    if (!c_.is_capped) return line("%s2 = abs(%s1)");
    numbers("cap", "2", scores_);
    line("%capped = div(%s1, %cap)");
    line("%tanh = tanh(%capped)");
    line("%s2 = mul(%tanh, %cap)");
  }

  void mask() {
    const std::string shape = "{shape=[" + list(full_, ", ") + "]}";
    if (c_.mask == Masks::kNone) return line("%s = neg(%s3)");
    if (c_.mask == Masks::kBias) {
      line("%bias = input \"bias\" : f32[" + list({1, c_.heads, c_.rows, c_.keys}, "x") + "]");
      line("%biases = broadcast(%bias) " + shape);
      return line("%s = add(%s3, %biases)");
    }
    line("%m1 = constant {" + mask_numbers() + "} : bool[1x1x" + list({c_.rows, c_.keys}, "x") +
         "]");
    line("%m = broadcast(%m1) " + shape);
    numbers("low", "-inf", full_);
    line("%s = select(%m, %s3, %low)");
  }

  std::string mask_numbers() const {
    std::string text;
    for (int row = 0; row < c_.rows; ++row) {
      for (int key = 0; key < c_.keys; ++key) {
        const bool is_seen = c_.mask == Masks::kCausal ? key <= row : row % 2 == 1;
        text += (text.empty() ? "" : ", ") + std::string(is_seen ? "1" : "0");
      }
    }
    return text;
  }

  void softmax() {
    const std::string full = "{shape=[" + list(full_, ", ") + "]}";
    line("%m0 = reduce(%s) {kind=max, axes=[3]}");
    if (c_.zero_where_nothing_is_seen) {
      numbers("none", "-inf", row_);
      numbers("zero", "0", row_);
      numbers("one", "1", row_);
      line("%empty = equal(%m0, %none)");
      line("%most = select(%empty, %zero, %m0)");
    }
    line(std::string("%mb = broadcast(") + (c_.zero_where_nothing_is_seen ? "%most) " : "%m0) ") +
         full);
    line("%d = sub(%s, %mb)");
    line("%e = exp(%d)");
    line("%z = reduce(%e) {kind=sum, axes=[3]}");
    if (c_.zero_where_nothing_is_seen) line("%z1 = select(%empty, %one, %z)");
    line(std::string("%zb = broadcast(") + (c_.zero_where_nothing_is_seen ? "%z1) " : "%z) ") +
         full);
    line("%p = div(%e, %zb)");
  }

  const Case c_;
  std::vector<int> scores_, full_, row_;
  std::string text_;
};

std::string graph_text(const Case& c) {
  return Text(c).graph();
}

bool can_attend(const Task& joined) {
  const std::optional<Attention> attention = find_attention(joined);
  return attention && !rank_attention(joined, *attention).empty();
}

using Decides = bool (*)(const Task& joined);

Schedule joined_schedule(const ir::Graph& graph, const CpuTarget& target,
                         Decides decides = can_attend, int threads = 1) {
  schedule::ScheduleOptions options = {8, true};
  options.joins = [&](const Schedule& schedule, const Region& joined) {
    return decides({schedule, joined, target, threads});
  };
  return schedule::make_schedule(graph, options);
}

int joined_regions(const Schedule& schedule) {
  return static_cast<int>(
      std::count_if(schedule.regions.begin(), schedule.regions.end(),
                    [](const Region& region) { return region.inner != ir::kNoNode; }));
}

using Choose = std::function<void(Knobs& knobs)>;

std::vector<ir::Literal> run_joined(
    const ir::Graph& graph, const std::vector<ir::Literal>& inputs, const CpuTarget& target,
    int threads = 1, const Choose& choose = [](Knobs&) {}, const char* name = "attention") {
  const Schedule joined = joined_schedule(graph, target);
  REQUIRE(joined_regions(joined) == 1);
  const ScheduleRun run = run_schedule(joined, inputs, target, [&](const Task& plain) {
    const Task task{plain.schedule, plain.region, plain.target, threads};
    if (task.region.inner == ir::kNoNode) return lower_region(task);
    const Strategy* strategy = find_strategy(name);
    REQUIRE(strategy->matches(task));
    Knobs knobs = strategy->knobs(task).front();
    choose(knobs);
    return strategy->emit(task, knobs);
  });
  CHECK(std::count(run.strategies.begin(), run.strategies.end(), name) == 1);
  return run.outputs;
}

// As the oracle, and without knobs or threads having a say in the bits.
void check_attention(const Case& c, double tolerance = 1e-5, int32_t vector_bytes = 32) {
  const std::string text = graph_text(c);
  CAPTURE(text);
  const ir::Graph graph = parsed(text);
  const std::vector<ir::Literal> inputs = seeded_inputs(graph);
  const CpuTarget target = test_target(vector_bytes);
  const std::vector<ir::Literal> usual = run_joined(graph, inputs, target);
  check_against_oracle(graph, inputs, usual, tolerance);
  for (const int threads : {2, 3}) {
    const auto choose = [&](Knobs& knobs) {
      knobs.rows = std::min(knobs.rows, threads == 2 ? 7 : 4);
      knobs.pixels = threads == 2 ? 4 : 3;
      knobs.vectors = threads == 2 ? 1 : 3;
      knobs.unroll = std::min(knobs.unroll, 3);
    };
    const std::vector<ir::Literal> other = run_joined(graph, inputs, target, threads, choose);
    CHECK(other[0].bytes == usual[0].bytes);
  }
}

// The same of few rows, whose operands are read where they lie.
void check_rows(const Case& c, double tolerance = 1e-5, int32_t vector_bytes = 32) {
  const std::string text = graph_text(c);
  CAPTURE(text);
  const ir::Graph graph = parsed(text);
  const std::vector<ir::Literal> inputs = seeded_inputs(graph);
  const CpuTarget target = test_target(vector_bytes);
  const auto run = [&](int threads, const Choose& choose) {
    return run_joined(graph, inputs, target, threads, choose, "attention_rows");
  };
  const std::vector<ir::Literal> usual = run(1, [](Knobs&) {});
  check_against_oracle(graph, inputs, usual, tolerance);
  const auto choose = [](Knobs& knobs) { knobs.vectors = 3; };
  CHECK(run(2, choose)[0].bytes == usual[0].bytes);
}

TEST_CASE("attention in one kernel matches the oracle") {
  const std::vector<Case> cases = {
      {.rows = 1, .keys = 1, .depth = 5, .columns = 5},
      {.rows = 1, .keys = 37, .depth = 32, .columns = 9},
      {.rows = 7, .keys = 7, .depth = 5, .columns = 13},
      {.batch = 2, .heads = 3, .kv_heads = 3, .rows = 25, .keys = 25, .depth = 16, .columns = 16},
      {.heads = 2, .kv_heads = 2, .rows = 19, .keys = 64, .depth = 80, .columns = 80},
      {.heads = 2, .kv_heads = 1, .rows = 33, .keys = 17, .depth = 3, .columns = 1},
  };
  for (const Case& c : cases) check_attention(c);
}

TEST_CASE("attention of a vision transformer's shape") {
  const Case c = {.heads = 1, .rows = 197, .keys = 197, .depth = 64, .columns = 64};
  const ir::Graph graph = parsed(graph_text(c));
  const std::vector<ir::Literal> inputs = seeded_inputs(graph);
  check_against_oracle(graph, inputs, run_joined(graph, inputs, test_target(32), 2), 1e-5);
}

TEST_CASE("attention with masks, biases, caps and shared heads") {
  for (const Masks mask : {Masks::kBias, Masks::kCausal}) {
    for (const bool is_capped : {false, true}) {
      for (const int kv_heads : {1, 2, 4}) {
        check_attention({.batch = 2,
                         .heads = 4,
                         .kv_heads = kv_heads,
                         .rows = 9,
                         .keys = 11,
                         .depth = 8,
                         .columns = 6,
                         .mask = mask,
                         .is_capped = is_capped});
      }
    }
  }
}

TEST_CASE("attention on other vector widths") {
  const Case c = {.heads = 2,
                  .kv_heads = 2,
                  .rows = 21,
                  .keys = 37,
                  .depth = 12,
                  .columns = 20,
                  .mask = Masks::kCausal};
  for (const int32_t vector_bytes : {16, 64}) check_attention(c, 1e-5, vector_bytes);
}

TEST_CASE("attention reads and multiplies halves") {
  for (const char* dtype : {"f16", "bf16"}) {
    // What the oracle rounds that is in no memory here, the probabilities, is as exact as that.
    const double tolerance = std::string(dtype) == "f16" ? 1e-3 : 8e-3;
    check_attention({.heads = 2,
                     .kv_heads = 2,
                     .rows = 13,
                     .keys = 21,
                     .depth = 16,
                     .columns = 24,
                     .mask = Masks::kBias,
                     .dtype = dtype},
                    tolerance);
  }
}

TEST_CASE("rows that see nothing are what three kernels make of them") {
  for (const bool are_zero : {false, true}) {
    CAPTURE(are_zero);
    const Case c = {.heads = 2,
                    .kv_heads = 2,
                    .rows = 6,
                    .keys = 13,
                    .depth = 8,
                    .columns = 8,
                    .mask = Masks::kAll,
                    .zero_where_nothing_is_seen = are_zero};
    const ir::Graph graph = parsed(graph_text(c));
    const std::vector<ir::Literal> inputs = seeded_inputs(graph);
    const CpuTarget target = test_target(32);
    const ir::OracleTensor joined = ir::to_oracle(run_joined(graph, inputs, target)[0]);
    const Schedule apart = schedule::make_schedule(graph, {8, true});
    const ir::OracleTensor three = ir::to_oracle(run_schedule(apart, inputs, target).outputs[0]);
    REQUIRE(joined.floats.size() == three.floats.size());
    int without = 0;
    for (size_t i = 0; i < three.floats.size(); ++i) {
      if (std::isnan(three.floats[i]) || three.floats[i] == 0) ++without;
      if (std::isnan(three.floats[i])) {
        CHECK(std::isnan(joined.floats[i]));
      } else {
        CHECK(joined.floats[i] == Approx(three.floats[i]).margin(1e-5));
      }
    }
    CHECK(without == 3 * 5);
  }
}

TEST_CASE("logits that are large, and far from one another") {
  for (const double scale : {1e4, -3e5, 1e-6}) {
    check_attention({.rows = 11, .keys = 29, .depth = 16, .columns = 8, .scale = scale}, 2e-5);
  }
}

TEST_CASE("attention of few rows matches the oracle") {
  for (const int rows : {1, 2, 3, 4}) {
    check_rows({.heads = 2, .kv_heads = 2, .rows = rows, .keys = 37, .depth = 19, .columns = 21});
    check_rows({.batch = 2,
                .heads = 4,
                .kv_heads = 2,
                .rows = rows,
                .keys = 70,
                .depth = 64,
                .columns = 32,
                .mask = Masks::kBias,
                .is_capped = true});
  }
  check_rows({.heads = 8, .kv_heads = 1, .rows = 1, .keys = 50, .mask = Masks::kCausal});
  for (const int keys : {1, 7, 8, 9, 255, 256, 257, 1024, 4096}) {
    check_rows({.rows = 1, .keys = keys, .depth = 5, .columns = 3});
  }
  for (const int32_t vector_bytes : {16, 64}) {
    check_rows({.rows = 3, .keys = 41, .depth = 40, .columns = 24, .mask = Masks::kCausal}, 1e-5,
               vector_bytes);
  }
  for (const char* dtype : {"f16", "bf16"}) {
    check_rows({.rows = 2, .keys = 33, .depth = 16, .columns = 24, .dtype = dtype}, 8e-3);
  }
  check_rows({.rows = 2, .keys = 29, .mask = Masks::kAll, .zero_where_nothing_is_seen = true});
}

// K as [depth, keys], and V as [columns, keys]: neither has rows of heads.
TEST_CASE("attention of few rows reads keys and values however they lie") {
  for (const char* keys : {"%kt = reshape(%k) {shape=[1,2,16,37]}",
                           "%kr = reshape(%k) {shape=[1,2,37,16]}\n"
                           "%kt = transpose(%kr) {perm=[0,1,3,2]}"}) {
    for (const char* values : {"%v = reshape(%u) {shape=[1,2,37,11]}",
                               "%ur = reshape(%u) {shape=[1,2,11,37]}\n"
                               "%v = transpose(%ur) {perm=[0,1,3,2]}"}) {
      const std::string text = std::string(R"(graph "g" {
        %q = input "q" : f32[1x2x3x16]
        %k = input "k" : f32[1184]
        %u = input "u" : f32[814]
        )") + keys + "\n" + values +
                               R"(
        %s = matmul(%q, %kt)
        %m = reduce(%s) {kind=max, axes=[3]}
        %mb = broadcast(%m) {shape=[1,2,3,37]}
        %d = sub(%s, %mb)
        %e = exp(%d)
        %z = reduce(%e) {kind=sum, axes=[3]}
        %zb = broadcast(%z) {shape=[1,2,3,37]}
        %p = div(%e, %zb)
        %y = matmul(%p, %v)
        output "y" = %y
      })";
      CAPTURE(text);
      const ir::Graph graph = parsed(text);
      const std::vector<ir::Literal> inputs = seeded_inputs(graph);
      check_against_oracle(
          graph, inputs,
          run_joined(graph, inputs, test_target(32), 1, [](Knobs&) {}, "attention_rows"), 1e-5);
    }
  }
}

// Heads that share K and V by stretching them are computed together, so that these are read once.
TEST_CASE("attention of few rows reads what heads share once for all of them") {
  // Of eight rows, four at a time take less.
  for (const auto& [groups, each, rows, together] :
       {std::array{1, 4, 1, 4}, {2, 3, 2, 3}, {2, 8, 1, 4}, {3, 2, 3, 2}, {3, 1, 1, 1}}) {
    const auto text_of = [](int n) { return std::to_string(n); };
    const std::string heads = text_of(groups * each);
    const auto operand = [&](const std::string& name, const std::string& to) {
      const std::string width = name == "k" ? "16" : "11";
      return "%" + name + " = input \"" + name + "\" : f32[1x" + text_of(groups) + "x1x37x" +
             width + "]\n%" + name + "b = broadcast(%" + name + ") {shape=[1," + text_of(groups) +
             "," + text_of(each) + ",37," + width + "]}\n%" + to + " = reshape(%" + name +
             "b) {shape=[1," + heads + ",37," + width + "]}\n";
    };
    const std::string full = "[1," + heads + "," + text_of(rows) + ",37]";
    const std::string text =
        "graph \"g\" {\n%q = input \"q\" : f32[1x" + heads + "x" + text_of(rows) + "x16]\n" +
        operand("k", "kr") + operand("v", "vr") + "%kt = transpose(%kr) {perm=[0,1,3,2]}\n" +
        "%s = matmul(%q, %kt)\n%m = reduce(%s) {kind=max, axes=[3]}\n%mb = broadcast(%m) {shape=" +
        full + "}\n%d = sub(%s, %mb)\n%e = exp(%d)\n%z = reduce(%e) {kind=sum, axes=[3]}\n" +
        "%zb = broadcast(%z) {shape=" + full + "}\n%p = div(%e, %zb)\n%y = matmul(%p, %vr)\n" +
        "%t = transpose(%y) {perm=[0,2,1,3]}\noutput \"y\" = %t\n}";
    CAPTURE(text);
    const ir::Graph graph = parsed(text);
    const CpuTarget target = test_target(32);
    const Schedule schedule = joined_schedule(graph, target);
    REQUIRE(schedule.regions.size() == 1);
    const Task task{schedule, schedule.regions[0], target};
    const AttentionRowsPlan plan = plan_attention_rows(task, *find_attention(task));
    CHECK(plan.batches == together);
    CHECK(plan.rows == together * rows);
    const std::vector<ir::Literal> inputs = seeded_inputs(graph);
    const auto run = [&](int threads) {
      return run_joined(graph, inputs, target, threads, [](Knobs&) {}, "attention_rows");
    };
    const std::vector<ir::Literal> usual = run(1);
    check_against_oracle(graph, inputs, usual, 1e-5);
    CHECK(run(2)[0].bytes == usual[0].bytes);
  }
}

TEST_CASE("few rows of many keys are one kernel, that packs nothing") {
  const auto strategy = [](const Case& c) {
    const CpuTarget target = test_target(32);
    const Schedule schedule = joined_schedule(parsed(graph_text(c)), target, pays_to_join);
    for (const Region& region : schedule.regions) {
      if (region.inner != ir::kNoNode) return lower_region({schedule, region, target}).strategy;
    }
    return std::string("three kernels");
  };
  for (const int rows : {1, 4}) {
    for (const int keys : {64, 1024, 4096}) {
      CHECK(strategy({.heads = 8,
                      .kv_heads = 8,
                      .rows = rows,
                      .keys = keys,
                      .depth = 64,
                      .columns = 64}) == "attention_rows");
    }
  }
  CHECK(
      strategy({.heads = 8, .kv_heads = 8, .rows = 64, .keys = 256, .depth = 64, .columns = 64}) ==
      "attention");
  CHECK(strategy({.rows = 1, .keys = 70000, .depth = 8, .columns = 8}) == "three kernels");
}

// Negative control of all comparisons: operands and masks have a say.
TEST_CASE("attention computes with what it is given") {
  const Case c = {.heads = 2, .kv_heads = 2, .rows = 9, .keys = 11};
  const CpuTarget target = test_target(32);
  const auto result = [&](const Case& of, int changed) {
    const ir::Graph graph = parsed(graph_text(of));
    std::vector<ir::Literal> inputs = seeded_inputs(graph);
    if (changed >= 0) {
      ir::Literal& input = inputs[static_cast<size_t>(changed)];
      input = ir::seeded_literal(input.type, 7);
    }
    return run_joined(graph, inputs, target)[0].bytes;
  };
  const std::vector<std::byte> usual = result(c, -1);
  CHECK(usual == result(c, -1));
  for (const int input : {0, 1, 2}) CHECK(usual != result(c, input));
  Case masked = c;
  masked.mask = Masks::kCausal;
  CHECK(usual != result(masked, -1));
}

int joins(const std::string& text, Decides decides = can_attend,
          const CpuTarget& target = test_target(32), int threads = 1) {
  const Schedule schedule = joined_schedule(parsed(text), target, decides, threads);
  CHECK(schedule::verify_schedule(schedule).is_ok());
  return joined_regions(schedule);
}

TEST_CASE("what is no attention, or is read by others, stays apart") {
  const Case c = {.heads = 2, .kv_heads = 2, .rows = 9, .keys = 11};
  const std::string usual = graph_text(c);
  REQUIRE(joins(usual) == 1);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = usual;
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const std::string end = "output \"y\"";
  // Scores, logits or probabilities have other readers, or are outputs.
  CHECK(joins(with(end, "output \"s\" = %s\n" + end)) == 0);
  CHECK(joins(with(end, "%u = sin(%s)\noutput \"u\" = %u\n" + end)) == 0);
  CHECK(joins(with(end, "output \"p\" = %p\n" + end)) == 0);
  CHECK(joins(with(end, "%u = sin(%pg)\noutput \"u\" = %u\n" + end)) == 0);
  // Other reductions, or along another axis.
  CHECK(joins(with("kind=max", "kind=min")) == 0);
  CHECK(joins(with("{kind=sum", "{kind=prod")) == 0);
  CHECK(joins(with("%e = exp(%d)", "%e = abs(%d)")) == 0);
  // Rows in another order between the products.
  std::string turned = graph_text({.heads = 9, .kv_heads = 9, .rows = 9, .keys = 11});
  REQUIRE(joins(turned) == 1);
  turned.replace(turned.find("neg(%s3)"), 8, "transpose(%s3) {perm=[0, 2, 1, 3]}");
  CHECK(joins(turned) == 0);
  // GPUs' items have no caches of their own.
  CpuTarget gpu = test_target(32);
  gpu.is_gpu = true;
  CHECK(joins(usual, can_attend, gpu) == 0);
}

TEST_CASE("probabilities that are more than a quotient are made in the strip") {
  const Case c = {.heads = 2, .kv_heads = 2, .rows = 9, .keys = 11};
  std::string text = graph_text(c);
  const std::string quotient = "%p = div(%e, %zb)";
  text.replace(text.find(quotient), quotient.size(),
               "%keep = input \"keep\" : f32[1x2x9x11]\n%p0 = div(%e, %zb)\n%p = mul(%p0, %keep)");
  const ir::Graph graph = parsed(text);
  const std::vector<ir::Literal> inputs = seeded_inputs(graph);
  check_against_oracle(graph, inputs, run_joined(graph, inputs, test_target(32)), 1e-5);
}

TEST_CASE("heads become columns as they are written, and nothing lies between") {
  const Case c = {.batch = 2, .heads = 3, .kv_heads = 3, .rows = 25, .keys = 25};
  const ir::Graph graph = parsed(graph_text(c));
  const Schedule apart = schedule::make_schedule(graph, {8, true});
  const Schedule joined = joined_schedule(graph, test_target(32));
  CHECK(joined.regions.size() + 2 == apart.regions.size());
  const auto region = std::find_if(joined.regions.begin(), joined.regions.end(),
                                   [](const Region& r) { return r.inner != ir::kNoNode; });
  REQUIRE(region != joined.regions.end());
  CHECK(joined.type(region->output).shape == ir::Shape{50, 24});
  const Task task{joined, *region, test_target(32)};
  CHECK_FALSE(task.has_buffer(region->inner));
  CHECK(region_description(task) == "2x3x25x8 * 2x3x8x25, softmax, * 2x3x25x8 -> 50x24");
  // Where they are the result, too.
  std::string text = graph_text(c);
  text.replace(text.find("output \"y\" = %y"), 15, "output \"y\" = %o3");
  const ir::Graph ends = parsed(text);
  const Schedule direct = joined_schedule(ends, test_target(32));
  CHECK(direct.regions.size() == 1);
  const std::vector<ir::Literal> inputs = seeded_inputs(ends);
  check_against_oracle(ends, inputs, run_joined(ends, inputs, test_target(32), 2), 1e-5);
  // But not where they are read as they were.
  std::string read = graph_text(c);
  read.replace(read.find("output \"y\""), 10, "%u = sin(%o0)\noutput \"u\" = %u\noutput \"y\"");
  const ir::Graph both = parsed(read);
  const std::vector<ir::Literal> again = seeded_inputs(both);
  check_against_oracle(both, again, run_joined(both, again, test_target(32)), 1e-5);
}

TEST_CASE("attention pays but where rows are too long") {
  const auto pays = [](const Case& c, int threads = 1) {
    return joins(graph_text(c), pays_to_join, test_target(32), threads);
  };
  CHECK(pays({.heads = 3, .kv_heads = 3, .rows = 197, .keys = 197, .depth = 64, .columns = 64}) ==
        1);
  CHECK(pays({.heads = 3, .kv_heads = 3, .rows = 197, .keys = 197, .depth = 64, .columns = 64},
             2) == 1);
  CHECK(pays({.heads = 8, .kv_heads = 8, .rows = 25, .keys = 25, .depth = 64, .columns = 64}) == 1);
  // The choice, and so the bits, are the same for any number of threads.
  for (const int threads : {2, 3, 64}) {
    CHECK(pays({.heads = 3, .kv_heads = 3, .rows = 20, .keys = 30, .depth = 64, .columns = 64},
               threads) == 1);
  }
  // One row of scores is more than the stack holds.
  CHECK(pays({.rows = 2, .keys = 70000, .depth = 2, .columns = 2}) == 0);
}

TEST_CASE("work is cut into even strips and chunks") {
  const Case c = {.heads = 3, .kv_heads = 3, .rows = 197, .keys = 197, .depth = 64, .columns = 64};
  const CpuTarget target = test_target(32);
  const Schedule schedule = joined_schedule(parsed(graph_text(c)), target);
  const auto region = std::find_if(schedule.regions.begin(), schedule.regions.end(),
                                   [](const Region& r) { return r.inner != ir::kNoNode; });
  REQUIRE(region != schedule.regions.end());
  for (const int threads : {1, 2, 3, 4}) {
    const Task task{schedule, *region, target, threads};
    const Attention attention = *find_attention(task);
    const Knobs knobs = rank_attention(task, attention).front();
    const AttentionCut cut = cut_attention(task, attention, knobs);
    CAPTURE(threads, to_string(knobs));
    CHECK(cut.strips * cut.strip_rows >= 197);
    CHECK((cut.strips - 1) * cut.strip_rows < 197);
    CHECK(cut.strip_rows <= knobs.rows);
    const int64_t items = 3 * cut.chunks;
    const int64_t busiest = (items + threads - 1) / threads * cut.strips_per_chunk();
    CHECK(static_cast<double>(busiest * threads) <= 1.2 * static_cast<double>(3 * cut.strips));
  }
}

}  // namespace
}  // namespace camshaft::lower
