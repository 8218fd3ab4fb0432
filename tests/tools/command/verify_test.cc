// SPDX-License-Identifier: MIT
// camshaft verify on plans whose goldens are right, wrong, and another target's.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "codegen/emit/compile.h"
#include "runtime/base/file.h"
#include "runtime/plan/checksum.h"
#include "tools/command/command.h"
#include "tools/command/golden.h"

namespace camshaft::command {
namespace {

constexpr const char* kGraph =
    "graph \"doubled\" {\n"
    "  %0 = input \"x\" : f32[4]\n"
    "  %1 = add(%0, %0) : f32[4]\n"
    "  output \"y\" = %1\n"
    "}\n";

// y = 2 x for `cpu`, and the same binary once more under another target's name, second in order.
const plan::PlanContents& compiled() {
  static const plan::PlanContents contents = [] {
    emit::CompileOptions options;
    options.targets = {"cpu"};
    plan::PlanContents made =
        emit::compile_graph(ir::parse_graph(kGraph).value(), "", options, nullptr).value();
    plan::TargetInfo twin = made.info.targets[0];
    twin.target = "twin:of it";
    made.info.targets.push_back(twin);
    return made;
  }();
  return contents;
}

io::Tensor tensor_of(const std::vector<double>& values) {
  io::Tensor tensor{base::DType::kFloat32, {4}, std::vector<std::byte>(16)};
  for (size_t i = 0; i < 4; ++i) {
    io::set_element(tensor.dtype, tensor.bytes.data(), i, values[i]);
  }
  return tensor;
}

// Exit code of `camshaft verify` for a plan with one golden: these outputs for x = 1, 2, 3, 4.
int verify(size_t target, const std::vector<double>& outputs, bool right_hash = true) {
  plan::PlanContents contents = compiled();
  plan::Golden golden;
  golden.target = contents.info.targets[target].target;
  golden.inputs_section = contents.add_section(plan::SectionKind::kGoldenInputs,
                                               pack_golden(std::vector{tensor_of({1, 2, 3, 4})}));
  const std::vector<std::byte> packed = pack_golden(std::vector{tensor_of(outputs)});
  const plan::Hash128 hash = plan::checksum(packed);
  golden.outputs_section = contents.add_section(plan::SectionKind::kGoldenOutputs, packed);
  golden.output_hash_low = hash.low;
  golden.output_hash_high = right_hash ? hash.high : ~hash.high;
  contents.info.goldens = {golden};
  const std::string path = "/tmp/camshaft-verify-" + std::to_string(::getpid()) + ".plan";
  REQUIRE(base::write_file_atomically(path, plan::write_plan(contents).value()).is_ok());
  const char* const arguments[] = {"camshaft", "verify", path.c_str()};
  const int code = run_command(3, arguments);
  std::remove(path.c_str());
  return code;
}

TEST_CASE("a golden of the same target must come out bit for bit") {
  CHECK(verify(0, {2, 4, 6, 8}) == 0);
  CHECK(verify(0, {2, 4, 6, 8}, false) == 5);
  CHECK(verify(0, {2, 4, 6, 8.0000004}) == 0);  // is 8 in f32
  CHECK(verify(0, {2, 4, 6, 8.000001}) == 5);   // is not
}

TEST_CASE("a golden of another target has a tolerance") {
  CHECK(verify(1, {2, 4, 6, 8.000001}) == 0);
  CHECK(verify(1, {2, 4, 6, 8}, false) == 0);
  CHECK(verify(1, {2, 4, 6, 8.01}) == 5);
}

}  // namespace
}  // namespace camshaft::command
