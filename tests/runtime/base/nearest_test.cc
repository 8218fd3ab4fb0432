// SPDX-License-Identifier: MIT
#include "runtime/base/nearest.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace camshaft::base {
namespace {

const std::vector<std::string> kVerbs = {"compile", "tune",    "run",    "bench", "inspect",
                                         "compare", "devices", "verify", "top",   "echo"};

TEST_CASE("the distance of texts counts letters") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("run", "run") == 0);
  CHECK(edit_distance("", "run") == 3);
  CHECK(edit_distance("run", "") == 3);
  CHECK(edit_distance("run", "runs") == 1);
  CHECK(edit_distance("bench", "bnch") == 1);
  CHECK(edit_distance("bench", "bunch") == 1);
  CHECK(edit_distance("bench", "becnh") == 1);  // two letters change places
  CHECK(edit_distance("ca", "abc") == 3);       // no part is changed twice
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("sitting", "kitten") == 3);
}

TEST_CASE("a slip is answered with the name that was meant") {
  CHECK(did_you_mean("compil", kVerbs) == " (did you mean 'compile'?)");
  CHECK(did_you_mean("copmile", kVerbs) == " (did you mean 'compile'?)");
  CHECK(did_you_mean("comprae", kVerbs) == " (did you mean 'compare'?)");
  CHECK(did_you_mean("RUN", kVerbs) == " (did you mean 'run'?)");
  CHECK(did_you_mean("tnue", kVerbs) == " (did you mean 'tune'?)");
  CHECK(did_you_mean("rnu", kVerbs) == " (did you mean 'run'?)");
  CHECK(did_you_mean("lvm", std::array{"cpu", "llvm"}) == " (did you mean 'llvm'?)");
  CHECK(did_you_mean("insp", kVerbs) == " (did you mean 'inspect'?)");
}

TEST_CASE("a name that is near none has no answer") {
  for (const char* name : {"", "r", "install", "cuda", "x", "help", "train", "in", "comp.onnx"}) {
    INFO(name);
    CHECK(did_you_mean(name, kVerbs).empty());
  }
  CHECK(did_you_mean("run", std::vector<std::string>{}).empty());
  CHECK(did_you_mean("c", std::array{"a", "b"}).empty());
  CHECK(did_you_mean("x1", std::array{"x0"}).empty());
  for (const char* name : {"cuda", "gpu", "metal", "vax"}) {
    INFO(name);
    CHECK(did_you_mean(name, std::array{"cpu", "llvm", "opencl", "null"}).empty());
  }
  CHECK(did_you_mean(std::string(1000, 'a'), std::array{"aaa"}).empty());
}

TEST_CASE("a slip is nearer than what was cut short, and the first of equals wins") {
  CHECK(did_you_mean("thread", std::array{"thread_count_limit", "threads"}) ==
        " (did you mean 'threads'?)");
  CHECK(did_you_mean("trend", std::array{"trends_of_old", "tread"}) == " (did you mean 'tread'?)");
  CHECK(did_you_mean("cats", std::array{"bats", "hats"}) == " (did you mean 'bats'?)");
}

TEST_CASE("names may be members of what is offered") {
  struct Row {
    const char* name;
  };
  CHECK(did_you_mean("cpuu", std::array{Row{"null"}, Row{"cpu"}}, &Row::name) ==
        " (did you mean 'cpu'?)");
}

}  // namespace
}  // namespace camshaft::base
