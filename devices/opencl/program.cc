// SPDX-License-Identifier: MIT
#include "devices/opencl/program.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace camshaft::opencl {
namespace {

using base::Code;

// Floats are IEEE but for denormals, which are flushed as on the CPU; a multiply-add is fused where
// the text says so (FP_CONTRACT is off in it).
std::string build_options(const FoundDevice& device) {
  std::string options = "-cl-std=CL1.2 -cl-denorms-are-zero";
  if (device.rounds_division) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  return options;
}

std::string build_log(const Api& api, cl_program program, cl_device_id device) {
  size_t size_bytes = 0;
  if (api.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size_bytes) !=
      CL_SUCCESS) {
    return "";
  }
  std::string log(size_bytes, '\0');
  api.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size_bytes, log.data(), nullptr);
  return log.c_str();
}

// The kernel that line `line` of the text is in, after "void ": its name, or that of its body;
// empty before the first.
std::string kernel_at_line(const std::string& text, size_t line) {
  size_t end = 0;
  for (; line > 0 && end != std::string::npos; --line) end = text.find('\n', end + 1);
  const std::string before = text.substr(0, end);
  const size_t found = before.rfind("void ");
  if (found == std::string::npos) return "";
  const size_t begin = found + std::string_view("void ").size();
  std::string name = before.substr(begin, before.find('(', begin) - begin);
  const size_t body = name.rfind("_body");
  return body == std::string::npos ? name : name.substr(0, body);
}

// "kernel 'k003': FILE:12:3: error: ..."
std::string complaint(const std::string& text, const std::string& log) {
  const size_t found = log.find("error");
  if (found == std::string::npos) return log.empty() ? "it gives no reason" : log;
  const size_t begin = log.rfind('\n', found) + 1;  // npos + 1: the start
  // ":LINE:COLUMN:" before or behind the word, as clang and those made of it write.
  const size_t end = std::min(log.find('\n', begin), log.size());
  size_t line = 0;
  for (size_t at = begin; at < end && line == 0; ++at) {
    if (log[at] == ':') line = std::strtoul(log.c_str() + at + 1, nullptr, 10);
  }
  const std::string kernel = line == 0 ? "" : kernel_at_line(text, line);
  return (kernel.empty() ? "" : "kernel '" + kernel + "': ") + log.substr(begin);
}

}  // namespace

base::Result<BuiltProgram> build_program(const Api& api, cl_context context,
                                         const FoundDevice& device,
                                         const hal::ProgramImage& image) {
  if (image.format != "opencl-c") {
    return base::fail(Code::kUnsupported, "opencl.format",
                      "the OpenCL device loads 'opencl-c' programs, not '%.*s'",
                      static_cast<int>(image.format.size()), image.format.data());
  }
  const auto* text = reinterpret_cast<const char*>(image.bytes.data());
  const size_t length = image.bytes.size();
  if (std::find(text, text + length, '\0') != text + length) {
    return base::fail(Code::kCorrupt, "opencl.text", "the plan's OpenCL program is no text");
  }
  CAMSHAFT_TRY_ASSIGN(BuiltProgram built,
                      build_text(api, context, device, std::string(text, length), ""));
  for (const std::string_view name : image.kernels) built.kernels.emplace_back(name);
  for (uint32_t i = 0; i < built.kernels.size(); ++i) CAMSHAFT_TRY(make_kernel(api, built, i));
  return built;
}

base::Result<BuiltProgram> build_text(const Api& api, cl_context context, const FoundDevice& device,
                                      std::string text, const char* options) {
  cl_int error = CL_SUCCESS;
  BuiltProgram built;
  built.context = context;
  built.text = std::move(text);
  const char* begin = built.text.data();
  const size_t length = built.text.size();
  built.program = Object<cl_program>(
      api.clCreateProgramWithSource(context, 1, &begin, &length, &error), api.clReleaseProgram);
  if (error == CL_SUCCESS) {
    error = api.clBuildProgram(built.program.get(), 1, &device.device,
                               (build_options(device) + options).c_str(), nullptr, nullptr);
  }
  if (error == CL_SUCCESS) return built;
  const std::string log =
      built.program ? build_log(api, built.program.get(), device.device) : std::string();
  return base::fail(Code::kWrongTarget, "opencl.build",
                    "the driver of %s can't build the plan's kernels (%s): %.600s",
                    device.info.name, error_name(error), complaint(built.text, log).c_str());
}

base::Result<Object<cl_kernel>> make_kernel(const Api& api, const BuiltProgram& program,
                                            uint32_t kernel) {
  cl_int error = CL_SUCCESS;
  const char* name = program.kernels[kernel].c_str();
  Object<cl_kernel> made(api.clCreateKernel(program.program.get(), name, &error),
                         api.clReleaseKernel);
  if (error == CL_SUCCESS) return made;
  if (error == CL_INVALID_KERNEL_NAME) {
    return base::fail(Code::kCorrupt, "opencl.kernel",
                      "the plan's OpenCL program has no kernel '%s', which the plan launches",
                      name);
  }
  return base::fail(Code::kWrongTarget, "opencl.kernel",
                    "the driver can't make the kernel '%s': %s", name, error_name(error));
}

}  // namespace camshaft::opencl
