// SPDX-License-Identifier: MIT
// Kernels that read views: random slices of tensors in memory against the oracle, and steps of a
// sequence that share their kernel.
#include <set>

#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

using ir::NodeId;
using ir::Op;
using ir::Shape;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  int64_t below(int64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>(state_ >> 33) % limit;
  }

 private:
  uint64_t state_;
};

// A slice of random axes, mostly whole ones so that many lie in one piece.
NodeId random_slice(ir::Graph& graph, NodeId from, Random& random) {
  const Shape shape = graph.node(from).type.shape;
  ir::SliceAttrs attrs{Shape(shape.size(), 0), shape, Shape(shape.size(), 1)};
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (random.below(3) > 0) continue;
    attrs.extent[axis] = 1 + random.below(shape[axis]);
    attrs.begin[axis] = random.below(shape[axis] - attrs.extent[axis] + 1);
    const bool back = random.below(8) == 0;
    if (!back) continue;
    attrs.begin[axis] += attrs.extent[axis] - 1;
    attrs.step[axis] = -1;
  }
  return graph.add(Op::kSlice, {from}, attrs);
}

ir::Graph random_slices(Random& random) {
  ir::Graph graph;
  constexpr int64_t kExtents[] = {1, 2, 3, 4, 16, 32};
  Shape shape;
  for (int64_t axis = 1 + random.below(4); axis > 0; --axis) {
    shape.push_back(kExtents[random.below(6)]);
  }
  NodeId base = graph.add_input("x", {ir::DType::kFloat32, shape});
  // A value that two regions read is in memory, here in the arena.
  if (random.below(2) == 0) base = graph.add(Op::kTanh, {base});
  for (int i = 0; i < 4; ++i) {
    NodeId piece = random_slice(graph, base, random);
    if (random.below(2) == 0) {
      const Shape flat = {graph.node(piece).type.elements()};
      piece = random_slice(graph, graph.add(Op::kReshape, {piece}, ir::ReshapeAttrs{flat}), random);
    }
    graph.add_output("y" + std::to_string(i), graph.add(Op::kNeg, {piece}));
  }
  return graph;
}

TEST_CASE("kernels find their elements in views of any kind") {
  int views = 0;
  int others = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const ir::Graph graph = random_slices(random);
    INFO(ir::print_graph(graph));
    const Schedule schedule = schedule::make_schedule(graph, {});
    const std::vector<ir::Literal> inputs = seeded_inputs(graph);
    const ScheduleRun run = run_schedule(schedule, inputs, test_target());
    check_against_oracle(graph, inputs, run.outputs, 1e-6);
    for (const schedule::BufferInfo& buffer : schedule.buffers) views += buffer.part_of >= 0;
    for (const Region& region : schedule.regions) {
      for (const NodeId id : region.nodes) others += graph.node(id).op == Op::kSlice;
    }
  }
  CHECK(views > 200);
  CHECK(others > 200);
}

// h = tanh(x[t] + h * w), step by step.
std::string recurrence(int64_t hidden) {
  const std::string n = std::to_string(hidden);
  std::string text = "graph \"g\" {\n%x = input \"x\" : f32[6x" + n +
                     "]\n%w = constant {seed 1} : " + "f32[" + n + "x" + n +
                     "]\n%h0 = input \"h\" : f32[1x" + n + "]\n";
  for (int t = 0; t < 6; ++t) {
    const std::string i = std::to_string(t);
    text += "%x" + i + " = slice(%x) {begin=[" + i + ",0], extent=[1," + n + "], step=[1,1]}\n%m" +
            i + " = matmul(%h" + i + ", %w)\n%s" + i + " = add(%m" + i + ", %x" + i + ")\n%h" +
            std::to_string(t + 1) + " = tanh(%s" + i + ")\n";
  }
  return text + "output \"y\" = %h6\n}";
}

// The kernels' texts of a graph's regions.
std::set<std::string> kernel_texts(const std::string& text) {
  const auto graph = ir::parse_graph(text);
  REQUIRE(graph.has_value());
  const Schedule schedule = schedule::make_schedule(*graph, {});
  const CpuTarget target = test_target();
  std::set<std::string> texts;
  for (const Region& region : schedule.regions) {
    texts.insert(ir::print_kernel(lower_region({schedule, region, target}).kernel));
  }
  CHECK(schedule.regions.size() == 6);
  return texts;
}

TEST_CASE("the steps of a recurrence share a kernel where their slices are aligned") {
  check_graph(recurrence(16));
  check_graph(recurrence(5));
  CHECK(kernel_texts(recurrence(16)).size() == 1);
  CHECK(kernel_texts(recurrence(5)).size() == 6);
}

}  // namespace
}  // namespace camshaft::lower
