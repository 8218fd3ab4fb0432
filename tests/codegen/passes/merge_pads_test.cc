// SPDX-License-Identifier: MIT
#include "tests/codegen/support/pass_testing.h"

namespace camshaft::passes {
namespace {

const std::string kHead = "%x = input \"x\" : f32[1x2x5]\n%w = constant {seed 1} : f32[3x2x2]\n";

std::string conv(const std::string& pad, const std::string& operand, const std::string& pads) {
  return kHead + pad + "%y = conv(" + operand + ", %w) {strides=[2], dilations=[1], " + pads +
         "}\noutput \"y\" = %y";
}
std::string pad(const std::string& attrs) {
  return "%p = pad(%x) {" + attrs + "}\n";
}

TEST_CASE("zeros around the input of a convolution are its pads") {
  const std::string inner = "pads_begin=[1], pads_end=[0]";
  check_rewrite(merge_pads,
                conv(pad("before=[0,0,2], after=[0,0,1], mode=constant, value=0"), "%p", inner),
                conv("", "%x", "pads_begin=[3], pads_end=[1]"));
  for (const char* attrs : {"before=[0,0,2], after=[0,0,1], mode=constant, value=1",
                            "before=[0,0,2], after=[0,0,1], mode=constant, value=nan",
                            "before=[0,0,2], after=[0,0,1], mode=edge, value=0",
                            "before=[1,0,2], after=[0,0,1], mode=constant, value=0"}) {
    check_unchanged(merge_pads, conv(pad(attrs), "%p", inner));
  }
  // Channels: the weights then have one more.
  check_unchanged(merge_pads,
                  "%x = input \"x\" : f32[1x1x5]\n%w = constant {seed 1} : f32[3x2x2]\n" +
                      pad("before=[0,1,0], after=[0,0,0]") +
                      "%y = conv(%p, %w) {strides=[1], dilations=[1], pads_begin=[0], "
                      "pads_end=[0]}\noutput \"y\" = %y");
}

TEST_CASE("padded weights are no padded input") {
  check_unchanged(merge_pads,
                  "%x = input \"x\" : f32[1x2x5]\n%w = input \"w\" : f32[3x2x2]\n"
                  "%p = pad(%w) {before=[0,0,1], after=[0,0,0]}\n"
                  "%y = conv(%x, %p) {strides=[1], dilations=[1], pads_begin=[0], pads_end=[0]}\n"
                  "output \"y\" = %y");
}

std::string pool(const std::string& value, const std::string& operand, const std::string& attrs) {
  return "%x = input \"x\" : f32[1x2x5]\n" +
         (operand == "%p" ? pad("before=[0,0,1], after=[0,0,1], value=" + value) : "") +
         "%y = pool(" + operand + ") {kernel=[2], strides=[1], dilations=[1], " + attrs +
         "}\noutput \"y\" = %y";
}

TEST_CASE("an average that counts the padding pads by itself") {
  check_rewrite(
      merge_pads, pool("0", "%p", "kind=average, pads_begin=[0], pads_end=[0]"),
      pool("0", "%x", "kind=average, pads_begin=[1], pads_end=[1], count_include_pad=true"));
  check_rewrite(
      merge_pads,
      pool("0", "%p", "kind=average, pads_begin=[1], pads_end=[0], count_include_pad=true"),
      pool("0", "%x", "kind=average, pads_begin=[2], pads_end=[1], count_include_pad=true"));
  check_unchanged(merge_pads, pool("0", "%p", "kind=average, pads_begin=[1], pads_end=[0]"));
  check_unchanged(merge_pads, pool("1", "%p", "kind=average, pads_begin=[0], pads_end=[0]"));
  check_unchanged(merge_pads,
                  pool("0", "%p", "kind=average, pads_begin=[0], pads_end=[0], ceil_mode=true"));
}

TEST_CASE("a maximum pads with what never wins") {
  check_rewrite(merge_pads, pool("-inf", "%p", "kind=max, pads_begin=[0], pads_end=[1]"),
                pool("-inf", "%x", "kind=max, pads_begin=[1], pads_end=[2]"));
  check_unchanged(merge_pads, pool("0", "%p", "kind=max, pads_begin=[0], pads_end=[0]"));
  check_unchanged(merge_pads, pool("inf", "%p", "kind=max, pads_begin=[0], pads_end=[0]"));
}

}  // namespace
}  // namespace camshaft::passes
