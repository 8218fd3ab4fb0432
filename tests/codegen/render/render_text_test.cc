// SPDX-License-Identifier: MIT
// The text that renderers show: C that clang accepts without a warning, LLVM IR that reads back the
// kernel's names, and loops whose accumulators stay in registers.
#include <catch2/catch.hpp>
#include <regex>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_passes.h"
#include "codegen/render/process.h"
#include "codegen/render/render.h"
#include "codegen/render/toolchain.h"
#include "tests/codegen/render/render_testing.h"

using namespace camshaft;
using namespace camshaft::ir;

namespace {

// out[t] = a row of a times packed columns of b: the register tile of a matrix multiplication, rows
// x (vectors * lanes), whose accumulators live in a local array.
Kernel gemm_tile(int32_t rows, int32_t vectors, int32_t lanes) {
  constexpr int64_t kDepth = 256;
  const int64_t columns = int64_t{vectors} * lanes;
  Kernel k;
  k.name = "gemm_tile";
  k.thread_extent = 8;
  const ArrayId a = k.add_param("a", DType::kFloat32, k.thread_extent * rows * kDepth, false);
  const ArrayId b = k.add_param("b", DType::kFloat32, kDepth * columns, false);
  const ArrayId out = k.add_param("out", DType::kFloat32, k.thread_extent * rows * columns, true);
  const ArrayId acc = k.add_local("acc", DType::kFloat32, rows * columns);
  const VarId t = k.add_loop_var("t", 0, k.thread_extent - 1);
  const VarId p = k.add_loop_var("p", 0, kDepth - 1);
  std::vector<Stmt> body, inner, last;
  for (int32_t i = 0; i < rows; ++i) {
    const ExprId row = k.add(k.mul(k.var(t), rows), i);
    const ExprId left = k.broadcast(k.load(a, k.add(k.mul(row, kDepth), k.var(p))), lanes);
    for (int32_t v = 0; v < vectors; ++v) {
      const ExprId place = k.int_const(i * columns + int64_t{v} * lanes);
      const ExprId right = k.load(b, k.add(k.mul(k.var(p), columns), int64_t{v} * lanes), lanes);
      body.push_back(make_store(acc, place, k.splat(0, {DType::kFloat32, lanes})));
      inner.push_back(make_store(acc, place, k.fma(left, right, k.load(acc, place, lanes))));
      last.push_back(make_store(out, k.add(k.mul(row, columns), int64_t{v} * lanes),
                                k.load(acc, place, lanes)));
    }
  }
  body.push_back(make_for(p, k.int_const(0), k.int_const(kDepth), LoopKind::kSerial, inner));
  body.insert(body.end(), last.begin(), last.end());
  k.body.push_back(make_for(t, k.int_const(0), k.int_const(k.thread_extent), LoopKind::kThread,
                            std::move(body)));
  return k;
}

int64_t count_matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), regex),
                       std::sregex_iterator());
}

std::string assembly_of(const Kernel& kernel, const std::string& spec) {
  const auto text = render::render_assembly(kernel, render_test::target_of(spec));
  INFO(spec << ": " << render_test::last_log_lines(0));
  REQUIRE(text);
  return *text;
}

// A kernel with most of what the C renderer prints.
Kernel busy_kernel(int32_t lanes) {
  Kernel k;
  k.name = "busy_x" + std::to_string(lanes);
  k.thread_extent = 4;
  const ArrayId a = k.add_param("a", DType::kFloat32, 1024, false);
  const ArrayId h = k.add_param("int", DType::kFloat16, 1024, false);  // a C keyword
  const ArrayId n = k.add_param("a", DType::kInt8, 1024, false);       // a name twice
  const ArrayId out = k.add_param("out", DType::kFloat32, 1024, true);
  const ArrayId flags = k.add_param("0", DType::kBool, 1024, true);  // no identifier
  k.add_local("unused", DType::kFloat32, 8);
  const VarId t = k.add_loop_var("begin", 0, 3);  // a name of the function's own
  // A type's name.
  const VarId unused = k.add_let_var("f32x8", {DType::kFloat32, lanes});
  const VarId kept = k.add_let_var("t0", {DType::kBool, lanes});
  const ExprId index = k.mul(k.var(t), 64);
  const ExprId x = k.load(a, index, lanes);
  const ExprId y = k.cast(k.load(h, index, lanes), DType::kFloat32);
  const ExprId m = k.load(n, index, lanes);
  const ExprId small =
      k.binary(KOp::kShr, k.sub(m, k.binary(KOp::kMul, m, m)), k.splat(2, {DType::kInt8, lanes}));
  ExprId sum = k.fma(x, y, k.cast(small, DType::kFloat32));
  for (int i = 0; i < 6; ++i) sum = k.fma(sum, x, k.binary(KOp::kMin, y, sum));
  const ExprId bits = k.bitcast(k.cast(sum, DType::kInt32), DType::kUInt32);
  const ExprId limit = k.splat(7, {DType::kUInt32, lanes});
  const ExprId mask = k.binary(KOp::kAnd, k.binary(KOp::kEq, sum, sum), k.var(kept));
  std::vector<Stmt> body = {
      make_let(unused, k.add(x, y)), make_let(kept, k.binary(KOp::kLt, m, small)),
      make_store(out, index,
                 k.select(mask, sum, k.cast(k.binary(KOp::kAnd, bits, limit), DType::kFloat32))),
      make_store(flags, index, k.binary(KOp::kOr, mask, k.binary(KOp::kLe, bits, limit)))};
  k.body.push_back(make_for(t, k.int_const(0), k.int_const(4), LoopKind::kThread, std::move(body)));
  return k;
}

}  // namespace

TEST_CASE("the C compiles without a warning") {
  const auto clang = render::find_clang();
  REQUIRE(clang);
  const auto text = render::render_c({busy_kernel(1), busy_kernel(8), gemm_tile(6, 2, 8)},
                                     render_test::target_of("cpu:haswell"));
  REQUIRE(text);
  const auto compile = [&](const std::string& source) {
    const auto input = render::MemoryFile::make(std::as_bytes(std::span(source)));
    REQUIRE(input);
    auto result = render::run_process({*clang, "-x", "c", "-std=c17", "-ffreestanding",
                                       "-march=haswell", "-Wall", "-Werror", "-fsyntax-only", "-"},
                                      {&*input, nullptr});
    REQUIRE(result);
    return *result;
  };
  const render::ProcessResult result = compile(*text);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  REQUIRE(compile(*text + "\nstatic int unused;\n").exit_code != 0);
}

TEST_CASE("the C reads like the kernel") {
  const auto text = render::render_c({gemm_tile(1, 1, 8)}, render_test::target_of("cpu:haswell"));
  REQUIRE(text);
  REQUIRE_THAT(*text,
               Catch::Contains("  for (int64_t t = begin; t < end; ++t) {\n"
                               "    *(f32x8_at32*)&acc[0] = (f32x8)(0.0f);\n"
                               "    for (int64_t p = 0; p < 256; ++p) {\n"
                               "      *(f32x8_at32*)&acc[0] = fma((f32x8)(a[t * 256 + p]), *(const "
                               "f32x8_at32*)&b[p * 8], "
                               "*(const f32x8_at32*)&acc[0]);\n"
                               "    }\n"
                               "    *(f32x8_at32*)&out[t * 8] = *(const f32x8_at32*)&acc[0];\n"));
}

ir::Kernel texel_kernel() {
  auto kernel = ir::parse_kernel(R"(kernel "texels" threads 6 {
  param a: f16[48] image 6 2 6
  param b: u8[24] image 3 2 3
  param out: f32[32] image 4 2 4 writable
  param bytes: u8[24] writable
  for t in 0..6 thread {
    let x: f32x4 = texel(a, t - 1, 0, ramp(0, 1, 4))
    let one: f32 = texel(a, t, 1, t % 4)
    let some: u8x4 = texel(b, ramp(t, -1, 4), broadcast(1, 4), ramp(t, 1, 4) % broadcast(4, 4))
    store(bytes, t * 4, some)
    store_texel(out, t % 4, t / 4, x * broadcast(one, 4))
  }
}
)");
  REQUIRE(kernel);
  REQUIRE(ir::verify_kernel(*kernel).is_ok());
  return std::move(*kernel);
}

TEST_CASE("the OpenCL C compiles without a warning") {
  const auto clang = render::find_clang();
  REQUIRE(clang);
  const auto text =
      render::render_opencl({busy_kernel(1), busy_kernel(8), gemm_tile(6, 2, 4), texel_kernel()},
                            render_test::target_of("opencl"));
  REQUIRE(text);
  const auto compile = [&](const std::string& source) {
    const auto input = render::MemoryFile::make(std::as_bytes(std::span(source)));
    REQUIRE(input);
    auto result = render::run_process(
        {*clang, "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-Wall",
         "-Werror", "-Wno-unused-parameter", "-fsyntax-only", "-"},
        {&*input, nullptr});
    REQUIRE(result);
    return *result;
  };
  const render::ProcessResult result = compile(*text);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  REQUIRE(compile(*text + "\nint unknown(float4 x) { return x; }\n").exit_code != 0);
}

TEST_CASE("the OpenCL C reads like the kernel") {
  const auto text = render::render_opencl({gemm_tile(1, 1, 4)}, render_test::target_of("opencl"));
  REQUIRE(text);
  REQUIRE_THAT(*text, Catch::Contains("  __global const float* restrict b = (__global const "
                                      "float*)(params_1 + params_at_1);\n"));
  REQUIRE_THAT(*text, Catch::Contains("    const int t = shared_iteration;\n"
                                      "    *(float4*)&acc[0] = (float4)(0.0f);\n"
                                      "    for (int p = 0; p < 256; ++p) {\n"
                                      "      *(float4*)&acc[0] = fma((float4)(a[t * 256 + p]), "
                                      "*(__global const float4*)&b[p * 4], "
                                      "*(const float4*)&acc[0]);\n"
                                      "    }\n"));
  REQUIRE_THAT(*text, Catch::Contains("params_at_2, get_global_id(0));\n"));
}

TEST_CASE("the OpenCL C of a group has its items' memory and barriers") {
  auto kernel = ir::parse_kernel(R"(kernel "k" threads 3 {
  param a: i64[24]
  param out: i64[3] writable
  shared part: i64[8]
  for g in 0..3 thread {
    for i in 0..8 item {
      store(part, i, load(a, g * 8 + i))
    }
    barrier
    for j in 0..8 item {
      if j == 0 {
        store(out, g, load(part, 7))
      }
    }
  }
}
)");
  REQUIRE(kernel);
  const auto text = render::render_opencl({*kernel}, render_test::target_of("opencl"));
  REQUIRE(text);
  REQUIRE_THAT(*text,
               Catch::Contains("  __local long* part = (__local long*)(shared_bytes + 0);\n"));
  REQUIRE_THAT(*text, Catch::Contains("      const long i = shared_item;\n"));
  REQUIRE_THAT(*text, Catch::Contains("    barrier(CLK_LOCAL_MEM_FENCE);\n"));
  REQUIRE_THAT(*text, Catch::Contains("__kernel __attribute__((reqd_work_group_size(8, 1, 1))) "
                                      "void k("));
  REQUIRE_THAT(*text, Catch::Contains("  __local uchar shared_bytes[64] "));
}

TEST_CASE("the OpenCL C of images") {
  const auto text = render::render_opencl({texel_kernel()}, render_test::target_of("opencl"));
  REQUIRE(text);
  REQUIRE_THAT(*text, Catch::Contains("__kernel void texels(__read_only image2d_t a, __read_only "
                                      "image2d_t b, __write_only image2d_t out, __global uchar* "));
  REQUIRE_THAT(*text, Catch::Contains("__constant sampler_t texel_border = "));
  REQUIRE_THAT(*text, Catch::Contains(" = read_imagef(a, texel_border, (int2)(t - 1, 0));\n"));
  REQUIRE_THAT(*text, Catch::Contains("convert_uchar4(read_imageui(b, texel_border, (int2)("));
  REQUIRE_THAT(*text,
               Catch::Contains("write_imagef(out, (int2)(t % 4, t / 4), x * (float4)(one));\n"));
  REQUIRE(render::needed_features({texel_kernel()}, render_test::target_of("opencl")) ==
          std::vector<std::string>{"images"});
  REQUIRE_THAT(*text, !Catch::Contains("EXTENSION images"));
}

TEST_CASE("what is written to an image of halves is a half already") {
  auto kernel = ir::parse_kernel(R"(kernel "k" threads 1 {
  param out: f16[4] image 1 1 1 writable
  store_texel(out, 0, 0, broadcast(0.1, 4))
}
)");
  REQUIRE(kernel);
  const auto text = render::render_opencl({*kernel}, render_test::target_of("opencl"));
  REQUIRE(text);
  REQUIRE_THAT(*text, Catch::Contains("write_imagef(out, (int2)(0, 0), half4_to_float("
                                      "half4_of_float("));
  REQUIRE_THAT(*text, Catch::Contains("vstore_half4_rte("));
}

TEST_CASE("images are for GPUs, and accessed as texels") {
  for (const std::string& backend : render_test::backends()) {
    REQUIRE_FALSE(render::render_source({texel_kernel()}, render_test::target_of(backend)));
  }
  auto elements = ir::parse_kernel(R"(kernel "k" threads 1 {
  param a: f32[48] image 6 2 6
  param out: f32[48] writable
  store(out, 0, load(a, 0, 4))
}
)");
  REQUIRE(elements);
  REQUIRE_FALSE(render::render_opencl({*elements}, render_test::target_of("opencl")));
  const auto texels = ir::access_texels(std::move(*elements));
  REQUIRE(texels);
  REQUIRE(render::render_opencl({*texels}, render_test::target_of("opencl")));
}

TEST_CASE("accumulators stay in registers") {
  for (const std::string& backend : render_test::backends()) {
    const std::string avx2 = assembly_of(gemm_tile(6, 2, 8), backend + ":znver3");
    REQUIRE(count_matches(avx2, "vfmadd231ps\\s.*%ymm") == 12);
    REQUIRE(count_matches(avx2, "vbroadcastss") == 6);
    REQUIRE(count_matches(avx2, "\\(%rsp\\)|\\(%rbp\\)") == 0);
    for (const char* march : {"skylake-avx512", "znver4", "znver5", "sapphirerapids"}) {
      const std::string avx512 = assembly_of(gemm_tile(14, 2, 16), backend + ":" + march);
      REQUIRE(count_matches(avx512, "vfmadd231ps\\s.*%zmm") == 28);
      REQUIRE(count_matches(avx512, "vbroadcastss|\\{1to16\\}") == 14);
      REQUIRE(count_matches(avx512, "\\(%rsp\\)|\\(%rbp\\)") == 0);
    }
    const std::string neon = assembly_of(gemm_tile(6, 4, 4), backend + ":cortex-a76");
    REQUIRE(count_matches(neon, "fmla\\s.*\\.4s") == 24);
    REQUIRE(count_matches(neon, "st[rp]\\s+q.*\\[sp") == 0);
  }
  // One accumulator too many does spill, so that the counting is known to count.
  const std::string spilled = assembly_of(gemm_tile(10, 2, 8), "cpu:znver3");
  REQUIRE(count_matches(spilled, "\\(%rsp\\)|\\(%rbp\\)") > 0);
}

TEST_CASE("minima and maxima are single instructions") {
  for (const std::string& backend : render_test::backends()) {
    for (const int32_t lanes : {1, 8}) {
      for (const bool is_constant_first : {false, true}) {
        Kernel k;
        k.name = "clamp";
        const ArrayId a = k.add_param("a", DType::kFloat32, 8, false);
        const ArrayId out = k.add_param("out", DType::kFloat32, 8, true);
        const ExprId zero = k.splat(0, {DType::kFloat32, lanes});
        const ExprId six = k.splat(6, {DType::kFloat32, lanes});
        const ExprId x = k.load(a, k.int_const(0), lanes);
        const ExprId low =
            is_constant_first ? k.binary(KOp::kMax, zero, x) : k.binary(KOp::kMax, x, zero);
        const ExprId value =
            is_constant_first ? k.binary(KOp::kMin, six, low) : k.binary(KOp::kMin, low, six);
        k.body.push_back(make_store(out, k.int_const(0), value));
        const std::string text = assembly_of(k, backend + ":znver3");
        INFO(text);
        REQUIRE(count_matches(text, "vmax[ps]s\\s") == 1);
        REQUIRE(count_matches(text, "vmin[ps]s\\s") == 1);
        REQUIRE(count_matches(text, "vcmp|vblend|comiss") == 0);
      }
    }
  }
}

#if CAMSHAFT_WITH_LLVM
TEST_CASE("OpenCL C: halves are converted by memory, or by PTX where the device has that") {
  const auto kernel = parse_kernel(R"(kernel "k" threads 1 {
  param a: f16[8]
  param out: f16[8] writable
  store(out, 0, cast(cast(load(a, 0, 8), f32) + cast(load(a, 0, 8), f32), f16))
}
)");
  REQUIRE(kernel);
  const auto text = render::render_opencl({*kernel}, render_test::target_of("opencl"));
  REQUIRE(text);
  using Catch::Contains;
  CHECK_THAT(*text, Contains("#ifdef CAMSHAFT_PTX\nfloat8 half8_to_float(ushort8 x) { float r0; "
                             "asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r0) : \"h\"(x.s0)); "));
  CHECK_THAT(*text, Contains("(x.s7)); return (float8)(r0, r1, r2, r3, r4, r5, r6, r7); }\n#else\n"
                             "float8 half8_to_float(ushort8 x) { return vload_half8("));
  CHECK_THAT(*text,
             Contains("ushort r7; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r7) : \"f\"(x.s7)); "
                      "return (ushort8)(r0,"));
  CHECK_THAT(*text, Contains("vstore_half8_rte(x, 0, (half*)&bits); return bits; }\n#endif\n"));
}

TEST_CASE("the LLVM IR names what the kernel names") {
  const auto text =
      render::render_llvm({gemm_tile(1, 1, 8)}, render_test::target_of("llvm:haswell"));
  REQUIRE(text);
  for (const char* part :
       {"define internal void @gemm_tile.body(ptr noalias noundef readonly align 64 %a",
        "define void @gemm_tile(ptr %params, i64 %begin, i64 %end)",
        "call <8 x float> @llvm.fma.v8f32", "%acc = alloca [8 x float], align 64", "no-builtins",
        "\"tune-cpu\"=\"haswell\""}) {
    REQUIRE_THAT(*text, Catch::Contains(part));
  }
}
#endif
