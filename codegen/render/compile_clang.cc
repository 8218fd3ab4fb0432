// SPDX-License-Identifier: MIT
#include <span>
#include <string>

#include "codegen/render/compile.h"
#include "codegen/render/process.h"
#include "codegen/render/target_info.h"
#include "codegen/render/toolchain.h"

namespace camshaft::render {

namespace {

using base::Code;

// Expressions of the kernels that share a translation unit: enough to make clang's start cheap,
// few enough to keep all cores busy. Depends on nothing but the kernels, as the bytes do.
constexpr int kExprsPerFile = 20000;

std::vector<std::string> compiler_command(const std::string& clang, const CpuTarget& target) {
  std::vector<std::string> command = {
      clang, "--no-default-config", "--target=" + target.triple, "-x", "c", "-std=c17", "-O3",
      "-w"};
  const auto add = [&](std::initializer_list<const char*> words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  add({"-ffreestanding", "-fno-builtin", "-nostdlibinc", "-fPIC"});
  // Integers wrap; memory is read as the types that the kernel says; floats are IEEE, and whether
  // denormals are flushed is the thread's choice.
  add({"-fwrapv", "-fno-strict-aliasing", "-fno-fast-math", "-ffp-contract=off", "-fno-math-errno",
       "-fno-trapping-math", "-fdenormal-fp-math=dynamic"});
  // Kernels are vectorised and unrolled when they come.
  add({"-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops"});
  add({"-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
       "-fomit-frame-pointer", "-fno-ident", "-fno-addrsig"});
  if (is_x86(target)) {
    add({"-fcf-protection=none"});
    command.push_back("-mprefer-vector-width=" + std::to_string(target.vector_bytes * 8));
  }
  command.push_back((is_x86(target) ? "-march=" : "-mcpu=") + base_cpu(target));
  command.push_back("-mtune=" + tune_cpu(target));
  for (const std::string& feature : feature_list(target)) {
    command.insert(command.end(), {"-Xclang", "-target-feature", "-Xclang", feature});
  }
  return command;
}

// The compiler's first complaint.
std::string first_error(const std::string& output) {
  const size_t found = output.find("error:");
  const size_t begin = found == std::string::npos ? 0 : found;
  return output.substr(begin, output.find('\n', begin) - begin);
}

// `kind` is "-c" or "-S". Nothing lies in a file system, so that no name can change the result.
base::Result<std::vector<std::byte>> compile_text(const std::string& clang, const std::string& text,
                                                  const CpuTarget& target, const char* kind) {
  CAMSHAFT_TRY_ASSIGN(const MemoryFile input, MemoryFile::make(std::as_bytes(std::span(text))));
  std::vector<std::byte> output;
  std::vector<std::string> command = compiler_command(clang, target);
  command.insert(command.end(), {kind, "-o", "-", "-"});
  CAMSHAFT_TRY_ASSIGN(const ProcessResult result, run_process(command, {&input, &output}));
  if (result.exit_code != 0) {
    return base::fail(Code::kInternal, "render.clang", "%s can't compile a kernel's C: %s",
                      clang.c_str(), first_error(result.output).c_str());
  }
  return output;
}

// Kernels in order, cut where a file has enough.
std::vector<std::vector<ir::Kernel>> split_into_files(const std::vector<ir::Kernel>& kernels) {
  std::vector<std::vector<ir::Kernel>> files;
  int exprs = kExprsPerFile;
  for (const ir::Kernel& kernel : kernels) {
    if (exprs >= kExprsPerFile) {
      files.emplace_back();
      exprs = 0;
    }
    files.back().push_back(kernel);
    exprs += kernel.expr_count();
  }
  return files;
}

}  // namespace

base::Result<ObjectFile> compile_c_text(const std::string& text, const CpuTarget& target) {
  CAMSHAFT_TRY_ASSIGN(const std::string clang, find_clang());
  return compile_text(clang, text, target, "-c");
}

base::Result<std::vector<ObjectFile>> compile_with_clang(const std::vector<ir::Kernel>& kernels,
                                                         const CpuTarget& target) {
  CAMSHAFT_TRY_ASSIGN(const std::string clang, find_clang());
  const std::vector<std::vector<ir::Kernel>> files = split_into_files(kernels);
  std::vector<ObjectFile> objects(files.size());
  CAMSHAFT_TRY(run_jobs(files.size(), [&](size_t i) -> base::Status {
    CAMSHAFT_TRY_ASSIGN(const std::string text, render_c(files[i], target));
    CAMSHAFT_TRY_ASSIGN(objects[i], compile_text(clang, text, target, "-c"));
    return base::ok();
  }));
  return objects;
}

base::Result<std::string> assembly_with_clang(const ir::Kernel& kernel, const CpuTarget& target) {
  CAMSHAFT_TRY_ASSIGN(const std::string clang, find_clang());
  CAMSHAFT_TRY_ASSIGN(const std::string text, render_c({kernel}, target));
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, compile_text(clang, text, target, "-S"));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace camshaft::render
