// SPDX-License-Identifier: MIT
#include "tests/codegen/support/pass_testing.h"

namespace camshaft::passes {
namespace {

std::string over(const std::string& type, const std::string& nodes) {
  return "%x = input \"x\" : " + type + "\n" + nodes + "\noutput \"y\" = %y";
}
void check_moves(const std::string& type, const std::string& before, const std::string& after) {
  check_rewrite(simplify_movement, over(type, before), over(type, after));
}
void check_moves_nothing(const std::string& type, const std::string& before) {
  check_rewrite(simplify_movement, over(type, before),
                "%x = input \"x\" : " + type + "\noutput \"y\" = %x");
}
void check_kept(const std::string& type, const std::string& nodes) {
  check_unchanged(simplify_movement, over(type, nodes));
}

TEST_CASE("movement that moves nothing vanishes") {
  check_moves_nothing("f32[2x3]", "%y = reshape(%x) {shape=[2,3]}");
  check_moves_nothing("f32[2x3]", "%y = transpose(%x) {perm=[0,1]}");
  check_moves_nothing("f32[2x3]", "%y = broadcast(%x) {shape=[2,3]}");
  check_moves_nothing("f32[2x3]", "%y = slice(%x) {begin=[0,0], extent=[2,3], step=[1,1]}");
  check_moves_nothing("f32[1x3]", "%y = slice(%x) {begin=[0,0], extent=[1,3], step=[-1,1]}");
  check_moves_nothing("f32[2x3]", "%y = pad(%x) {before=[0,0], after=[0,0], mode=edge}");
  check_moves_nothing("f32[2x3]", "%y = concat(%x) {axis=1}");
  check_kept("f32[2x3]", "%y = slice(%x) {begin=[1,0], extent=[2,3], step=[-1,1]}");
  check_kept("f32[2x2]", "%y = transpose(%x) {perm=[1,0]}");
}

TEST_CASE("two of a kind are one") {
  check_moves("f32[2x3]", "%a = reshape(%x) {shape=[6]}\n%y = reshape(%a) {shape=[3,2]}",
              "%y = reshape(%x) {shape=[3,2]}");
  check_moves_nothing("f32[2x3]", "%a = reshape(%x) {shape=[6]}\n%y = reshape(%a) {shape=[2,3]}");
  check_moves("f32[2x3x4]", "%a = transpose(%x) {perm=[1,2,0]}\n%y = transpose(%a) {perm=[1,0,2]}",
              "%y = transpose(%x) {perm=[2,1,0]}");
  check_moves_nothing("f32[2x3x4]",
                      "%a = transpose(%x) {perm=[1,2,0]}\n%y = transpose(%a) {perm=[2,0,1]}");
  check_moves("f32[1x1]", "%a = broadcast(%x) {shape=[1,3]}\n%y = broadcast(%a) {shape=[2,3]}",
              "%y = broadcast(%x) {shape=[2,3]}");
  check_moves("f32[20]",
              "%a = slice(%x) {begin=[19], extent=[9], step=[-2]}\n"
              "%y = slice(%a) {begin=[1], extent=[3], step=[3]}",
              "%y = slice(%x) {begin=[17], extent=[3], step=[-6]}");
  check_moves("f32[3]",
              "%a = pad(%x) {before=[1], after=[0], value=2}\n"
              "%y = pad(%a) {before=[0], after=[3], value=2}",
              "%y = pad(%x) {before=[1], after=[3], value=2}");
  check_moves("f32[1x2]", "%a = concat(%x, %x) {axis=0}\n%y = concat(%a, %x) {axis=0}",
              "%y = concat(%x, %x, %x) {axis=0}");
}

TEST_CASE("pairs that only look alike stay") {
  check_kept("f32[3]",
             "%a = pad(%x) {before=[1], after=[0], value=2}\n"
             "%y = pad(%a) {before=[0], after=[3], value=0}");
  check_kept("f32[3]",
             "%a = pad(%x) {before=[1], after=[0], mode=reflect}\n"
             "%y = pad(%a) {before=[1], after=[0], mode=reflect}");
  check_kept("f32[2x2]", "%a = concat(%x, %x) {axis=0}\n%y = concat(%a, %a) {axis=1}");
}

TEST_CASE("a concat drops its empty pieces") {
  check_moves("f32[2]", "%e = constant {} : f32[0]\n%y = concat(%x, %e, %x) {axis=0}",
              "%y = concat(%x, %x) {axis=0}");
}

TEST_CASE("a transpose of unit axes is a reshape") {
  check_moves("f32[2x1x3]", "%y = transpose(%x) {perm=[1,0,2]}",
              "%y = reshape(%x) {shape=[1,2,3]}");
  check_moves_nothing("f32[2x1x3]",
                      "%a = transpose(%x) {perm=[0,2,1]}\n%y = reshape(%a) {shape=[2,1,3]}");
  check_kept("f32[2x1x3]", "%y = transpose(%x) {perm=[2,1,0]}");
}

TEST_CASE("a slice of one piece of a concat is a slice of the piece") {
  const std::string type = "f32[2x3]";
  const std::string concat = "%n = neg(%x)\n%c = concat(%x, %n) {axis=1}\n";
  check_moves(type, concat + "%y = slice(%c) {begin=[0,4], extent=[2,2], step=[1,1]}",
              "%n = neg(%x)\n%y = slice(%n) {begin=[0,1], extent=[2,2], step=[1,1]}");
  check_moves_nothing(type, concat + "%y = slice(%c) {begin=[0,0], extent=[2,3], step=[1,1]}");
  check_moves(type, concat + "%y = slice(%c) {begin=[1,5], extent=[2,2], step=[-1,-2]}",
              "%n = neg(%x)\n%y = slice(%n) {begin=[1,2], extent=[2,2], step=[-1,-2]}");
  check_kept(type, concat + "%y = slice(%c) {begin=[0,2], extent=[2,2], step=[1,1]}");
}

TEST_CASE("a slice that leaves the padding out reads the padded tensor") {
  const std::string pad = "%p = pad(%x) {before=[2], after=[1], mode=edge}\n";
  check_moves("f32[4]", pad + "%y = slice(%p) {begin=[3], extent=[3], step=[1]}",
              "%y = slice(%x) {begin=[1], extent=[3], step=[1]}");
  check_moves_nothing("f32[4]", pad + "%y = slice(%p) {begin=[2], extent=[4], step=[1]}");
  check_kept("f32[4]", pad + "%y = slice(%p) {begin=[1], extent=[3], step=[1]}");
  check_kept("f32[4]", pad + "%y = slice(%p) {begin=[6], extent=[2], step=[-1]}");
}

TEST_CASE("a gather of evenly spaced constants is a slice") {
  const auto gather = [](const std::string& indices) {
    return over("f32[2x5]", "%i = constant " + indices + "\n%y = gather(%x, %i) {axis=1}");
  };
  const auto slice = [](const std::string& attrs, const std::string& shape) {
    return over("f32[2x5]",
                "%s = slice(%x) {" + attrs + "}\n%y = reshape(%s) {shape=" + shape + "}");
  };
  check_rewrite(slice_gathers, gather("{3} : i64[]"),
                slice("begin=[0,3], extent=[2,1], step=[1,1]", "[2]"));
  check_rewrite(slice_gathers, gather("{-1} : i8[1]"),
                slice("begin=[0,4], extent=[2,1], step=[1,1]", "[2,1]"));
  check_rewrite(slice_gathers, gather("{0, 1, 2, 3} : u8[2x2]"),
                slice("begin=[0,0], extent=[2,4], step=[1,1]", "[2,2,2]"));
  check_rewrite(slice_gathers, gather("{-1, 2, 0} : i64[3]"),
                slice("begin=[0,4], extent=[2,3], step=[1,-2]", "[2,3]"));
  check_unchanged(slice_gathers, gather("{0, 1, 3} : i64[3]"));
  check_unchanged(slice_gathers, gather("{2, 2} : i64[2]"));
  check_unchanged(slice_gathers, gather("{5} : i64[1]"));  // out of range: fails where it runs
  check_unchanged(slice_gathers, gather("{-6} : i64[1]"));
  check_unchanged(slice_gathers,
                  "%x = input \"x\" : f32[5]\n%i = input \"i\" : i64[2]\n"
                  "%y = gather(%x, %i)\noutput \"y\" = %y");
}

}  // namespace
}  // namespace camshaft::passes
