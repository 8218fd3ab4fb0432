// SPDX-License-Identifier: MIT
// Kernels as an OpenCL C program. A kernel becomes two functions: NAME_body, which is told which
// iteration of the thread loop it does (and, of a group, which item it is and where the shared
// arrays are), and the kernel NAME, which asks the device. So a device may also play several bodies
// in one kernel. A parameter comes as a pointer to bytes and an offset, or as an image, as
// devices/opencl passes it.
#include <algorithm>
#include <string>
#include <vector>

#include "codegen/render/c_kernel.h"
#include "codegen/render/index_width.h"
#include "codegen/render/legalize.h"
#include "codegen/render/render.h"
#include "codegen/render/renderable.h"
#include "runtime/base/bytes.h"

namespace camshaft::render {

namespace {

using ir::ArrayId;
using ir::ArrayKind;
using ir::DType;
using ir::Kernel;
using ir::Stmt;

class KernelPrinter final : public CKernelPrinter {
 public:
  KernelPrinter(const Kernel& kernel, CPrelude* prelude)
      : CKernelPrinter(kernel, prelude), items_(ir::group_items(kernel)) {}

 private:
  std::string global(ArrayId id) const {
    return kernel_.array(id).writable ? "__global " : "__global const ";
  }
  // A parameter's pointer and offset, with or without their types.
  std::string params(bool is_typed) const {
    std::string text;
    for (ArrayId id = 0; id < kernel_.param_count(); ++id) {
      if (kernel_.array(id).is_image()) {
        const char* access = kernel_.array(id).writable ? "__write_only" : "__read_only";
        text += (id == 0 ? "" : ", ") + (is_typed ? std::string(access) + " image2d_t " : "") +
                printer_.array_name(id);
        continue;
      }
      const std::string number = std::to_string(id);
      const std::string pointer = is_typed ? global(id) + "uchar* " + restrict_word(id) : "";
      text += (id == 0 ? "" : ", ") + pointer + "params_" + number + ", " +
              (is_typed ? "ulong " : "") + "params_at_" + number;
    }
    return text;
  }
  const char* index_type() const { return dialect_.scalar_type(DType::kInt64); }

  void print_head() override {
    out_ += "void " + kernel_.name + "_body(" + params(true) + ", const " + index_type() +
            " shared_iteration";
    if (items_ > 0) {
      out_ += std::string(", const ") + index_type() + " shared_item, __local uchar* shared_bytes";
    }
    out_ += ") {\n";
    for (ArrayId id = 0; id < kernel_.param_count(); ++id) {
      if (kernel_.array(id).is_image()) continue;
      const std::string number = std::to_string(id);
      const std::string type = global(id) + element_type(id) + "*";
      out_ += "  " + type + " " + restrict_word(id) + printer_.array_name(id) + " = (" + type +
              ")(params_" + number + " + params_at_" + number + ");\n";
    }
    print_shared_arrays();
  }

  void print_shared_arrays() {
    for (ArrayId id = 0; id < static_cast<ArrayId>(kernel_.arrays().size()); ++id) {
      const ir::Array& array = kernel_.array(id);
      if (array.kind != ArrayKind::kShared) continue;
      const std::string type = std::string("__local ") + element_type(id) + "*";
      out_ += "  " + type + " " + printer_.array_name(id) + " = (" + type + ")(shared_bytes + " +
              std::to_string(shared_bytes_) + ");\n";
      const auto bytes =
          static_cast<uint64_t>(array.elements * base::dtype_size_bytes(array.dtype));
      shared_bytes_ += static_cast<int64_t>(base::align_up(bytes, uint64_t{kArrayAlignment}));
    }
  }

  void print_thread_loop(const Stmt& stmt, const std::string& indent) override {
    print_block(stmt, "shared_iteration", indent);
  }
  void print_item_loop(const Stmt& stmt, const std::string& indent) override {
    print_block(stmt, "shared_item", indent);
  }
  void print_block(const Stmt& stmt, const char* value, const std::string& indent) {
    out_ += indent + "{\n" + indent + "  const " + index_type() + " " +
            printer_.var_name(stmt.var) + " = " + value + ";\n";
  }
  void print_barrier(const std::string& indent) override {
    out_ += indent + "barrier(CLK_LOCAL_MEM_FENCE);\n";
  }
  // A GPU has other items to run meanwhile.
  void print_prefetch(const std::string& /*address*/, const std::string& /*indent*/) override {}

  void print_end() override {
    const std::string size = std::to_string(items_);
    const std::string fixed =
        items_ == 0 ? "" : "__attribute__((reqd_work_group_size(" + size + ", 1, 1))) ";
    out_ += "\n__kernel " + fixed + "void " + kernel_.name + "(" + params(true) + ") {\n";
    if (items_ > 0) {
      out_ += "  __local uchar shared_bytes[" +
              std::to_string(std::max<int64_t>(shared_bytes_, kArrayAlignment)) +
              "] __attribute__((aligned(" + std::to_string(kArrayAlignment) + ")));\n";
    }
    out_ +=
        "  " + kernel_.name + "_body(" + params(false) +
        (items_ > 0 ? ", get_group_id(0), get_local_id(0), shared_bytes" : ", get_global_id(0)") +
        ");\n}\n";
  }

  const int64_t items_;  // of a group; 0: each item is an iteration of its own
  int64_t shared_bytes_ = 0;
};

}  // namespace

base::Result<std::string> render_opencl(const std::vector<Kernel>& kernels,
                                        const CpuTarget& target) {
  CAMSHAFT_TRY(check_renderable(kernels, target));
  CPrelude wide(opencl_c());
  CPrelude narrow(opencl_c_narrow());
  std::string functions;
  for (const Kernel& kernel : kernels) {
    const Kernel legal = legalize_kernel(kernel, target);
    CPrelude* prelude = fits_32_bits(legal) ? &narrow : &wide;
    functions += "\n" + KernelPrinter(legal, prelude).function();
  }
  wide.macros.merge(narrow.macros);
  wide.helpers.merge(narrow.helpers);
  std::string text = "// OpenCL C 1.2.\n#pragma OPENCL FP_CONTRACT OFF\n";
  for (const std::string& feature : needed_features(kernels, target)) {
    if (!feature.starts_with("cl_")) continue;  // no extension
    text += "#pragma OPENCL EXTENSION " + feature + " : enable\n";
  }
  return text + wide.text() + functions;
}

}  // namespace camshaft::render
