// SPDX-License-Identifier: MIT
// Texts, tables, lists of CPUs and statistics: the small parts of the command.
#include <catch2/catch.hpp>

#include "tools/command/cpu_list.h"
#include "tools/command/samples.h"
#include "tools/command/table.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using base::Code;

TEST_CASE("sizes and durations have three digits and a unit") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.00 KiB");
  CHECK(bytes_text(1536 * 1024) == "1.50 MiB");
  CHECK(bytes_text(uint64_t{5} << 40) == "5120 GiB");
  CHECK(flops_text(12) == "12 FLOP");
  CHECK(flops_text(3.64e9) == "3.64 GFLOP");
  CHECK(duration_text(812e-9) == "812 ns");
  CHECK(duration_text(0.0123) == "12.3 ms");
  CHECK(duration_text(90) == "90.0 s");
  CHECK(percent_text(0.934) == "93.4 %");
}

TEST_CASE("a long text loses its middle, between characters") {
  CHECK(shortened("", 1) == "");
  CHECK(shortened("abcdefg", 7) == "abcdefg");
  CHECK(shortened("abcdefgh", 7) == "abc\u2026fgh");
  CHECK(shortened("abcdefgh", 6) == "abc\u2026gh");
  CHECK(shortened("abc", 1) == "\u2026");
  CHECK(shortened("äöüßäöüß", 5) == "äö\u2026üß");
}

TEST_CASE("a long text is broken behind what parts its words, and nothing is lost") {
  using Lines = std::vector<std::string>;
  CHECK(wrapped("", 8) == Lines{""});
  CHECK(wrapped("abcdefgh", 8) == Lines{"abcdefgh"});
  CHECK(wrapped("abcdefghi", 8) == Lines{"abcdefgh", "i"});
  CHECK(wrapped("conv+add/relu", 8) == Lines{"conv+", "add/relu"});
  CHECK(wrapped("a/bcdefghi", 8) == Lines{"a/bcdefg", "hi"});  // a line is at least half full
  CHECK(wrapped("äöü ßäöü", 5) == Lines{"äöü ", "ßäöü"});
}

TEST_CASE("what files say can't move the terminal's cursor") {
  CHECK(printable("a\x1b[2Jb\n\x7f") == "a?[2Jb??");
  CHECK(printable("caf\u00e9") == "caf\u00e9");
}

TEST_CASE("split and join are each other's reverse") {
  CHECK(split("a,b,,c", ',') == std::vector<std::string>{"a", "b", "", "c"});
  CHECK(split("", ',') == std::vector<std::string>{""});
  CHECK(join(split("a,b,,c", ','), ",") == "a,b,,c");
}

TEST_CASE("columns line up whatever the cells' bytes") {
  Table table({{"name"}, {"size", Align::kRight}, {"note"}});
  table.add_row({"\u00e9t\u00e9", "5"});
  table.add_row({"a", "1234", "x\ny"});
  CHECK(table.text() ==
        "name  size  note\n"
        "\u00e9t\u00e9      5\n"
        "a     1234  x?y\n");
  Table untitled({{""}, {""}});
  untitled.add_row({"a", "b"});
  CHECK(untitled.text() == "a  b\n");
}

TEST_CASE("lists of CPUs are read, and nothing else is") {
  CHECK(parse_cpu_list("2").value() == std::vector<uint32_t>{2});
  CHECK(parse_cpu_list("0,4-6,2").value() == std::vector<uint32_t>{0, 4, 5, 6, 2});
  for (const char* wrong :
       {"", ",", "1,", "a", "-1", "1-", "3-1", "1,1", "0-4,3", "4096", "1 2", "0-99999999999"}) {
    INFO(wrong);
    CHECK(parse_cpu_list(wrong).error().code() == Code::kInvalidArgument);
  }
}

TEST_CASE("percentiles are those of the nearest rank") {
  Samples samples;
  samples.reserve(10);
  for (const int64_t value : {5, 1, 4, 2, 3, 10, 9, 8, 7, 6}) samples.add(value * 1'000'000'000);
  samples.sort();
  CHECK(samples.min_s() == 1);
  CHECK(samples.max_s() == 10);
  CHECK(samples.mean_s() == Approx(5.5));
  CHECK(samples.percentile_s(50) == 5);
  CHECK(samples.percentile_s(51) == 6);
  CHECK(samples.percentile_s(0.001) == 1);
  CHECK(samples.percentile_s(99.9) == 10);
  CHECK(samples.percentile_s(100) == 10);
  const io::Json json = samples_json(samples, {50, 99.9});
  CHECK(json["p50"] == 5000);
  CHECK(json["p99.9"] == 10000);
}

}  // namespace
}  // namespace camshaft::command
