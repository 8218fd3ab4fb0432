// SPDX-License-Identifier: MIT
#include "codegen/render/process.h"

#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace camshaft {
namespace {

TEST_CASE("programs read and write files in memory, by name and as their streams") {
  const std::string text(100'000, 'x');
  const auto input = render::MemoryFile::make(std::as_bytes(std::span(text)));
  const auto named = render::MemoryFile::make(std::as_bytes(std::span("a name", 6)));
  REQUIRE(input);
  REQUIRE(named);
  for (int turn = 0; turn < 2; ++turn) {  // the content is read from its beginning each time
    std::vector<std::byte> output;
    const auto done = render::run_process(
        {"/bin/sh", "-c", "cat " + named->path() + "; echo hm >&2"}, {&*input, &output});
    REQUIRE(done);
    CHECK(done->exit_code == 0);
    CHECK(done->output == "hm\n");
    CHECK(base::as_text(output) == "a name");
  }
  std::vector<std::byte> output;
  REQUIRE(render::run_process({"/bin/cat"}, {&*input, &output})->exit_code == 0);
  CHECK(base::as_text(output) == text);
  CHECK(base::as_text(input->content().value()) == text);
}

TEST_CASE("without files, standard input is empty and both outputs are told together") {
  const auto done = render::run_process({"/bin/sh", "-c", "cat; echo a; echo b >&2; exit 3"});
  REQUIRE(done);
  CHECK(done->output == "a\nb\n");
  CHECK(done->exit_code == 3);
}

}  // namespace
}  // namespace camshaft
