// SPDX-License-Identifier: MIT
// The oracle's Conv and Pool against values worked out by hand and against the definition.
#include "codegen/ir/oracle.h"
#include "tests/codegen/support/graph_testing.h"

namespace camshaft::ir {
namespace {

using Floats = std::vector<double>;

// A convolution of constants; `dtype` and shapes as in the text form.
std::string conv_body(const std::string& x, const std::string& w, const std::string& attrs) {
  return "%x = constant " + x + "\n%w = constant " + w + "\n%y = conv(%x, %w) {" + attrs +
         "}\noutput \"y\" = %y";
}

TEST_CASE("a convolution is a correlation with zeros outside") {
  CHECK(floats_of(conv_body("{1, 2, 3, 4} : f32[1x1x4]", "{1, 10} : f32[1x1x2]",
                            "strides=[1], dilations=[1], pads_begin=[0], pads_end=[0]")) ==
        Floats{21, 32, 43});
  // Asymmetric pads, stride.
  CHECK(floats_of(conv_body("{1, 2, 3, 4} : f32[1x1x4]", "{1, 10, 100} : f32[1x1x3]",
                            "strides=[2], dilations=[1], pads_begin=[2], pads_end=[1]")) ==
        Floats{100, 321, 43});
  // Dilation.
  CHECK(floats_of(conv_body("{1, 2, 3, 4, 5} : f32[1x1x5]", "{1, 10} : f32[1x1x2]",
                            "strides=[1], dilations=[3], pads_begin=[0], pads_end=[0]")) ==
        Floats{41, 52});
}

TEST_CASE("groups keep to their own channels") {
  // Depthwise: each channel has one filter.
  CHECK(
      floats_of(conv_body("{1, 2, 3, 4} : f32[1x2x2]", "{1, 1, 10, 100} : f32[2x1x2]",
                          "strides=[1], dilations=[1], pads_begin=[0], pads_end=[0], groups=2")) ==
      Floats{3, 430});
  // Two groups of two channels, two images, one output channel each.
  CHECK(floats_of(
            conv_body("{1, 2, 3, 4, 5, 6, 7, 8} : f32[2x4x1]", "{1, 10, 100, 1000} : f32[2x2x1]",
                      "strides=[1], dilations=[1], pads_begin=[0], pads_end=[0], groups=2")) ==
        Floats{21, 4300, 65, 8700});
}

TEST_CASE("integer convolutions wrap") {
  CHECK(ints_of(conv_body("{100, 100} : i8[1x1x2]", "{1, 1} : i8[1x1x2]",
                          "strides=[1], dilations=[1], pads_begin=[1], pads_end=[0]")) ==
        std::vector<int64_t>{100, -56});
}

// The definition, for two spatial axes, written without any of the oracle's helpers.
double conv_by_definition(const OracleTensor& x, const OracleTensor& w, const ConvAttrs& attrs,
                          const Shape& out, int64_t n, int64_t o, int64_t p, int64_t q) {
  const Shape& xs = x.type.shape;
  const Shape& ws = w.type.shape;
  const int64_t group = o / (out[1] / attrs.groups);
  double sum = 0;
  for (int64_t c = 0; c < ws[1]; ++c) {
    for (int64_t i = 0; i < ws[2]; ++i) {
      for (int64_t j = 0; j < ws[3]; ++j) {
        const int64_t row = p * attrs.strides[0] + i * attrs.dilations[0] - attrs.pads_begin[0];
        const int64_t column = q * attrs.strides[1] + j * attrs.dilations[1] - attrs.pads_begin[1];
        if (row < 0 || row >= xs[2] || column < 0 || column >= xs[3]) continue;
        const int64_t channel = group * ws[1] + c;
        sum +=
            x.floats[static_cast<size_t>(((n * xs[1] + channel) * xs[2] + row) * xs[3] + column)] *
            w.floats[static_cast<size_t>(((o * ws[1] + c) * ws[2] + i) * ws[3] + j)];
      }
    }
  }
  return sum;
}

TEST_CASE("two-dimensional convolutions agree with the definition") {
  const char* cases[] = {
      "strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1",
      "strides=[2,1], dilations=[1,2], pads_begin=[1,0], pads_end=[2,3], groups=1",
      "strides=[1,3], dilations=[2,1], pads_begin=[3,2], pads_end=[0,1], groups=2",
      "strides=[2,2], dilations=[2,2], pads_begin=[2,2], pads_end=[2,2], groups=4",
  };
  for (const std::string attrs : cases) {
    CAPTURE(attrs);
    const int64_t groups = attrs.back() - '0';
    const Graph graph = graph_from("%x = input \"x\" : f32[2x4x7x6]\n%w = input \"w\" : f32[8x" +
                                   std::to_string(4 / groups) + "x3x2]\n%y = conv(%x, %w) {" +
                                   attrs + "}\noutput \"y\" = %y");
    const auto inputs = seeded_inputs(graph, 11);
    const OracleTensor y = run_all(graph, inputs).at(0);
    const Shape& out = y.type.shape;
    size_t at = 0;
    for (int64_t n = 0; n < out[0]; ++n) {
      for (int64_t o = 0; o < out[1]; ++o) {
        for (int64_t p = 0; p < out[2]; ++p) {
          for (int64_t q = 0; q < out[3]; ++q) {
            const double expected = conv_by_definition(
                inputs[0], inputs[1], graph.node(2).as<ConvAttrs>(), out, n, o, p, q);
            REQUIRE(y.floats[at++] == Approx(expected).margin(1e-12));
          }
        }
      }
    }
  }
}

std::string pool_body(const std::string& x, const std::string& attrs) {
  return "%x = constant " + x + "\n%y = pool(%x) {" + attrs + "}\noutput \"y\" = %y";
}

TEST_CASE("padding never wins a maximum") {
  CHECK(floats_of(pool_body("{-1, -2, -3} : f32[1x1x3]",
                            "kind=max, kernel=[2], strides=[1], dilations=[1], pads_begin=[1], "
                            "pads_end=[1]")) == Floats{-1, -1, -2, -3});
  CHECK(ints_of(pool_body("{3, 200, 7} : u8[1x1x3]",
                          "kind=max, kernel=[2], strides=[2], dilations=[1], pads_begin=[0], "
                          "pads_end=[0], ceil_mode=true")) == std::vector<int64_t>{200, 7});
  CHECK(floats_of(pool_body("{1, 5, 2, 0, 3} : f32[1x1x5]",
                            "kind=max, kernel=[2], strides=[1], dilations=[2], pads_begin=[0], "
                            "pads_end=[0]")) == Floats{2, 5, 3});
}

TEST_CASE("what an average divides by") {
  const std::string x = "{2, 4, 6, 8} : f32[1x1x4]";
  const auto average = [&](const std::string& attrs) {
    return floats_of(pool_body(x, "kind=average, dilations=[1], " + attrs));
  };
  CHECK(average("kernel=[3], strides=[1], pads_begin=[1], pads_end=[1]") == Floats{3, 4, 6, 7});
  CHECK(average("kernel=[3], strides=[1], pads_begin=[1], pads_end=[1], count_include_pad=true") ==
        Floats{2, 4, 6, 14.0 / 3});
  // The last window reaches one beyond the padded extent: that tap counts for neither.
  CHECK(average("kernel=[3], strides=[2], pads_begin=[0], pads_end=[0], ceil_mode=true") ==
        Floats{4, 7});
  CHECK(average("kernel=[3], strides=[3], pads_begin=[1], pads_end=[0], ceil_mode=true, "
                "count_include_pad=true") == Floats{2, 7});
  CHECK(average("kernel=[4], strides=[3], pads_begin=[1], pads_end=[1], ceil_mode=true, "
                "count_include_pad=true") == Floats{3, 14.0 / 3});
}

TEST_CASE("a window that meets nothing gives the identity") {
  CHECK(floats_of(pool_body("{5} : f32[1x1x1]",
                            "kind=average, kernel=[2], strides=[1], dilations=[3], pads_begin=[2], "
                            "pads_end=[1]")) == Floats{0});
}

TEST_CASE("pools over two axes keep channels apart") {
  CHECK(floats_of(pool_body("{1, 2, 3, 4, 50, 60, 70, 80} : f32[1x2x2x2]",
                            "kind=average, kernel=[2,2], strides=[1,1], dilations=[1,1], "
                            "pads_begin=[0,0], pads_end=[0,0]")) == Floats{2.5, 65});
}

}  // namespace
}  // namespace camshaft::ir
