// SPDX-License-Identifier: MIT
#include "devices/opencl/program.h"

#include <algorithm>

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

// The line of the driver's log that says what is wrong.
std::string first_complaint(const Api& api, cl_program program, cl_device_id device) {
  size_t size_bytes = 0;
  if (api.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size_bytes) !=
      CL_SUCCESS) {
    return "it gives no reason";
  }
  std::string log(size_bytes, '\0');
  api.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size_bytes, log.data(), nullptr);
  const size_t found = log.find("error");
  const size_t begin = found == std::string::npos ? 0 : log.rfind('\n', found) + 1;
  return log.substr(begin, std::min(log.find('\n', begin), log.find('\0', begin)) - begin);
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
  cl_int error = CL_SUCCESS;
  BuiltProgram built;
  built.program = Object<cl_program>(
      api.clCreateProgramWithSource(context, 1, &text, &length, &error), api.clReleaseProgram);
  if (error == CL_SUCCESS) {
    error = api.clBuildProgram(built.program.get(), 1, &device.device,
                               build_options(device).c_str(), nullptr, nullptr);
  }
  if (error != CL_SUCCESS) {
    return base::fail(Code::kWrongTarget, "opencl.build",
                      "the driver of %s can't build the plan's kernels (%s): %.300s",
                      device.info.name, error_name(error),
                      built.program
                          ? first_complaint(api, built.program.get(), device.device).c_str()
                          : "it takes no program at all");
  }
  for (const std::string_view name : image.kernels) built.kernels.emplace_back(name);
  for (uint32_t i = 0; i < built.kernels.size(); ++i) CAMSHAFT_TRY(make_kernel(api, built, i));
  return built;
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
