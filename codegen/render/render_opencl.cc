// SPDX-License-Identifier: MIT
// Kernels as an OpenCL C program. The thread loop's iterations are work items. A parameter comes as
// a pointer to bytes and an offset, as devices/opencl passes it.
#include <algorithm>
#include <string>
#include <vector>

#include "codegen/render/c_kernel.h"
#include "codegen/render/legalize.h"
#include "codegen/render/render.h"
#include "codegen/render/renderable.h"

namespace camshaft::render {

namespace {

using ir::ArrayId;
using ir::DType;
using ir::Kernel;
using ir::Stmt;

class KernelPrinter final : public CKernelPrinter {
 public:
  using CKernelPrinter::CKernelPrinter;

 private:
  std::string global(ArrayId id) const {
    return kernel_.array(id).writable ? "__global " : "__global const ";
  }

  void print_head() override {
    out_ += "__kernel void " + kernel_.name + "(";
    for (ArrayId id = 0; id < kernel_.param_count(); ++id) {
      const std::string number = std::to_string(id);
      out_ += std::string(id == 0 ? "" : ", ") + global(id) + "uchar* " + restrict_word(id) +
              "params_" + number + ", ulong params_at_" + number;
    }
    out_ += ") {\n";
    for (ArrayId id = 0; id < kernel_.param_count(); ++id) {
      const std::string number = std::to_string(id);
      const std::string type = global(id) + element_type(id) + "*";
      out_ += "  " + type + " " + restrict_word(id) + printer_.array_name(id) + " = (" + type +
              ")(params_" + number + " + params_at_" + number + ");\n";
    }
  }

  void print_thread_loop(const Stmt& stmt, const std::string& indent) override {
    out_ += indent + "{\n" + indent + "  const long " + printer_.var_name(stmt.var) +
            " = get_global_id(0);\n";
  }

  // A GPU has other items to run meanwhile.
  void print_prefetch(const std::string& /*address*/, const std::string& /*indent*/) override {}
};

}  // namespace

base::Result<std::string> render_opencl(const std::vector<Kernel>& kernels,
                                        const CpuTarget& target) {
  CAMSHAFT_TRY(check_renderable(kernels, target));
  CPrelude prelude(opencl_c());
  std::string functions;
  for (const Kernel& kernel : kernels) {
    const Kernel legal = legalize_kernel(kernel, target);
    functions += "\n" + KernelPrinter(legal, &prelude).function();
  }
  std::string text = "// OpenCL C 1.2.\n#pragma OPENCL FP_CONTRACT OFF\n";
  for (const std::string& feature : needed_features(kernels, target)) {
    text += "#pragma OPENCL EXTENSION " + feature + " : enable\n";
  }
  return text + prelude.text() + functions;
}

}  // namespace camshaft::render
