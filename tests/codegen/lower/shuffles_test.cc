// SPDX-License-Identifier: MIT
// Movements that stay kernels of their own: the vectors that they are done in.
#include "codegen/ir/kernel_rewrite.h"
#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

// Channels of two halves by turns, of a pool's result and for a pool, which keep the layout.
std::string shuffle_graph(const std::string& dtype, const std::string& shape,
                          const std::string& split, const std::string& turned) {
  const std::string pool =
      ") {kind=max, kernel=[1,1], strides=[1,1], dilations=[1,1], "
      "pads_begin=[0,0], pads_end=[0,0]}\n";
  return "graph \"g\" {\n%x = input \"x\" : " + dtype + shape + "\n%p = pool(%x" + pool +
         "%s = reshape(%p) {shape=" + split + "}\n%t = transpose(%s) {perm=[0,2,1,3,4]}\n" +
         "%r = reshape(%t) {shape=" + turned + "}\n%q = pool(%r" + pool + "output \"y\" = %q\n}";
}

struct Stores {
  std::vector<int32_t> lanes;  // of each store, in order
  int gathers = 0;             // loads with a vector index
};

void collect(const Kernel& kernel, const std::vector<Stmt>& body, Stores& stores) {
  for (const Stmt& stmt : body) {
    if (stmt.kind == ir::StmtKind::kStore) {
      stores.lanes.push_back(kernel.expr(stmt.value).type.lanes);
      for (const ExprId id : ir::reachable_exprs(kernel, {stmt.value})) {
        const ir::Expr& e = kernel.expr(id);
        stores.gathers += e.op == ir::KOp::kLoad && kernel.expr(e.args[0]).type.lanes > 1 ? 1 : 0;
      }
    }
    collect(kernel, stmt.body, stores);
  }
}

// The stores of the graph's elementwise kernels.
Stores elementwise_stores(const std::string& text, int32_t block) {
  check_graph(text, 0, block);
  const ir::Graph graph = parsed(text);
  const Schedule schedule = schedule::make_schedule(graph, {block, true});
  const CpuTarget target = test_target(block == 16 ? 64 : 32);
  Stores stores;
  for (const Region& region : schedule.regions) {
    LoweredKernel lowered = lower_region({schedule, region, target});
    if (lowered.strategy != "elementwise") continue;
    const Kernel kernel = ir::prepare_kernel(std::move(lowered.kernel),
                                             target.lanes(ir::DType::kFloat32), target.math);
    collect(kernel, kernel.body, stores);
  }
  return stores;
}

using Lanes = std::vector<int32_t>;

TEST_CASE("channels that change places in narrow blocks move by whole vectors of pixels") {
  for (const std::string dtype : {"f32", "bf16"}) {
    // Blocks of 4: 4 pixels of 16 lanes; 49 pixels are 12 vectors and one pixel.
    const Stores four =
        elementwise_stores(shuffle_graph(dtype, "[1x20x7x7]", "[1,2,10,7,7]", "[1,20,7,7]"), 16);
    CHECK(four.lanes == Lanes{16, 4});
    CHECK(four.gathers == 2);
    const Stores eight =
        elementwise_stores(shuffle_graph(dtype, "[1x24x6x6]", "[1,2,12,6,6]", "[1,24,6,6]"), 16);
    CHECK(eight.lanes == Lanes{16});
    const Stores avx2 =
        elementwise_stores(shuffle_graph(dtype, "[1x12x6x6]", "[1,2,6,6,6]", "[1,12,6,6]"), 8);
    CHECK(avx2.lanes == Lanes{8});
  }
}

TEST_CASE("channels that change places and lie alone are copied plane by plane") {
  // 9 x 9 pixels are one run of 81.
  const Stores stores =
      elementwise_stores(shuffle_graph("bf16", "[1x6x9x9]", "[1,2,3,9,9]", "[1,6,9,9]"), 16);
  CHECK(stores.lanes == Lanes{16, 1});
  CHECK(stores.gathers == 0);
}

TEST_CASE("axes that a division mixes, or that are no power of two, are walked one by one") {
  // Pixels of which the row decides the channel: an axis inside of a division.
  const Stores mixed = elementwise_stores(R"(graph "g" {
    %x = input "x" : f32[6x10x4]
    %t = transpose(%x) {perm=[1,0,2]}
    %r = reshape(%t) {shape=[4,15,4]}
    %u = transpose(%r) {perm=[1,0,2]}
    output "y" = %u
  })",
                                          16);
  CHECK(mixed.lanes == Lanes{4});
  const Stores three = elementwise_stores(R"(graph "g" {
    %x = input "x" : f32[3x50]
    %t = transpose(%x) {perm=[1,0]}
    output "y" = %t
  })",
                                          16);
  CHECK(three.lanes == Lanes{2, 1});
}

}  // namespace
}  // namespace camshaft::lower
