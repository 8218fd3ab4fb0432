// SPDX-License-Identifier: MIT
// Kernels as a C translation unit for clang 19. A kernel becomes two functions: NAME_body, whose
// parameters are typed and restrict, and the exported NAME that unpacks the pointers.
#include <string>
#include <vector>

#include "codegen/render/amx.h"
#include "codegen/render/c_kernel.h"
#include "codegen/render/legalize.h"
#include "codegen/render/render.h"
#include "codegen/render/renderable.h"

namespace camshaft::render {

namespace {

using ir::ArrayId;
using ir::Kernel;
using ir::Stmt;

class KernelPrinter final : public CKernelPrinter {
 public:
  using CKernelPrinter::CKernelPrinter;

 private:
  void print_head() override {
    out_ += "static __attribute__((noinline)) void " + kernel_.name + "_body(";
    for (ArrayId id = 0; id < kernel_.param_count(); ++id) {
      out_ += std::string(kernel_.array(id).writable ? "" : "const ") + element_type(id) + "* " +
              restrict_word(id) + "param " + printer_.array_name(id) + ", ";
    }
    out_ += "int64_t begin, int64_t end) {\n";
    if (!has_thread_loop(kernel_)) out_ += "  if (begin >= end) return;\n";
    print_matrix_shapes();
  }

  void print_matrix_shapes() {
    if (kernel_.matrices().empty()) return;
    out_ += "  static const uint8_t shapes[64] __attribute__((aligned(64))) = {";
    for (const uint8_t byte : amx_configuration(kernel_)) out_ += std::to_string(byte) + ", ";
    out_ += "};\n  __builtin_ia32_tile_loadconfig(shapes);\n";
  }

  void print_tail() override {
    if (!kernel_.matrices().empty()) out_ += "  __builtin_ia32_tilerelease();\n";
  }

  void print_matrix(const Stmt& stmt, const std::string& address,
                    const std::string& indent) override {
    const ir::MatrixStep& step = stmt.matrix;
    const std::string number = std::to_string(step.matrix);
    const auto move = [&](const char* name) {
      const int64_t pitch = step.pitch * base::dtype_size_bytes(kernel_.array(stmt.array).dtype);
      return name + ("(" + number) + ", (void*)" + address + ", " + std::to_string(pitch) + ")";
    };
    out_ += indent + "__builtin_ia32_";
    switch (step.op) {
      case ir::MatrixOp::kClear:
        out_ += "tilezero(" + number + ")";
        break;
      case ir::MatrixOp::kLoad:
        out_ += move("tileloadd64");
        break;
      case ir::MatrixOp::kStore:
        out_ += move("tilestored64");
        break;
      case ir::MatrixOp::kMultiply:
        out_ += "tdpbf16ps(" + number + ", " + std::to_string(step.a) + ", " +
                std::to_string(step.b) + ")";
        break;
    }
    out_ += ";\n";
  }

  void print_thread_loop(const Stmt& stmt, const std::string& indent) override {
    const std::string& var = printer_.var_name(stmt.var);
    out_ += indent + "for (int64_t " + var + " = begin; " + var + " < end; ++" + var + ") {\n";
  }

  void print_prefetch(const std::string& address, const std::string& indent) override {
    out_ += indent + "__builtin_prefetch(" + address + ", 0, " + std::to_string(kPrefetchLocality) +
            ");\n";
  }

  void print_end() override {
    out_ += "\nvoid " + kernel_.name + "(void* const* params, int64_t begin, int64_t end) {\n  " +
            kernel_.name + "_body(";
    for (int i = 0; i < kernel_.param_count(); ++i) out_ += "params[" + std::to_string(i) + "], ";
    out_ += "begin, end);\n}\n";
  }
};

}  // namespace

base::Result<std::string> render_c(const std::vector<Kernel>& kernels, const CpuTarget& target) {
  CAMSHAFT_TRY(check_renderable(kernels, target));
  CPrelude prelude(clang_c());
  std::string functions;
  for (const Kernel& kernel : kernels) {
    const Kernel legal = legalize_kernel(kernel, target);
    functions += "\n" + KernelPrinter(legal, &prelude).function();
  }
  std::string text = "// For clang 19, " + target.march + ".\n#include <stdbool.h>\n" +
                     "#include <stdint.h>\n\n" +
                     "#define param __attribute__((align_value(64)))\n" + prelude.text();
  return text + functions;
}

}  // namespace camshaft::render
