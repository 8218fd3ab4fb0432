// SPDX-License-Identifier: MIT
#include "devices/opencl/program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "runtime/base/log_ring.h"

namespace camshaft::opencl {
namespace {

using base::Code;

// Floats are IEEE but for denormals, which are flushed as on the CPU; a multiply-add is fused where
// the text says so (FP_CONTRACT is off in it).
std::string build_options(const FoundDevice& device) {
  std::string options = "-cl-std=CL1.2 -cl-denorms-are-zero";
  if (device.rounds_division) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  if (device.is_nvidia) options += " -D CAMSHAFT_PTX";  // its assembler's instructions may be used
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

// FNV-1a, 64 bits: tells texts of plans apart, and guards against nothing.
std::string digest_of(std::string_view options, std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::string_view part : {options, std::string_view("\n"), text}) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

// A program of a binary that this driver made of this text; none where the driver doesn't take it.
Object<cl_program> program_of_binary(const Api& api, cl_context context, const FoundDevice& device,
                                     std::span<const std::byte> bytes, const std::string& options) {
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  const size_t length = bytes.size();
  cl_int taken = CL_SUCCESS;
  cl_int error = CL_SUCCESS;
  Object<cl_program> program(
      api.clCreateProgramWithBinary(context, 1, &device.device, &length, &begin, &taken, &error),
      api.clReleaseProgram);
  if (error == CL_SUCCESS && taken == CL_SUCCESS) {
    error = api.clBuildProgram(program.get(), 1, &device.device, options.c_str(), nullptr, nullptr);
  }
  return error == CL_SUCCESS && taken == CL_SUCCESS ? std::move(program) : Object<cl_program>();
}

bool has_kernels(const Api& api, const BuiltProgram& built) {
  for (uint32_t i = 0; i < built.kernels.size(); ++i) {
    if (!make_kernel(api, built, i)) return false;
  }
  return true;
}

// Uses the binary among those offered that is this driver's of this text, if there is one.
bool take_binary(const Api& api, const FoundDevice& device, const std::string& options,
                 std::span<const hal::DriverBinaryView> offered, BuiltProgram& built) {
  const auto fits = [&](const hal::DriverBinaryView& binary) {
    return binary.driver == device.driver && binary.digest == built.digest;
  };
  const auto found = std::find_if(offered.begin(), offered.end(), fits);
  if (found == offered.end()) {
    if (!offered.empty()) {
      base::log_line(
          "the plan's driver binary is for %.160s (of %.20s), and this device is %.160s (%s): its "
          "kernels are compiled from their text; compile --driver-binary makes one for it",
          std::string(offered[0].driver).c_str(), std::string(offered[0].digest).c_str(),
          device.driver.c_str(), built.digest.c_str());
    }
    return false;
  }
  built.program = program_of_binary(api, built.context, device, found->bytes, options);
  if (built.program && has_kernels(api, built)) return true;
  built.program = {};
  base::log_line(
      "the driver of %s doesn't take the plan's binary, which was made for it: its kernels are "
      "compiled from their text",
      device.info.name);
  return false;
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
  std::vector<std::string> kernels(image.kernels.begin(), image.kernels.end());
  CAMSHAFT_TRY_ASSIGN(BuiltProgram built,
                      build_text(api, context, device, std::string(text, length),
                                 std::move(kernels), image.driver_binaries));
  for (const hal::DriverBinaryView& binary : image.driver_binaries) {
    if (binary.driver != device.driver || binary.digest == built.digest) continue;
    built.offered.push_back({.driver = std::string(binary.driver),
                             .digest = std::string(binary.digest),
                             .bytes = {binary.bytes.begin(), binary.bytes.end()}});
  }
  return built;
}

base::Result<BuiltProgram> build_text(const Api& api, cl_context context, const FoundDevice& device,
                                      std::string text, std::vector<std::string> kernels,
                                      std::span<const hal::DriverBinaryView> offered) {
  const std::string options = build_options(device);
  BuiltProgram built;
  built.context = context;
  built.text = std::move(text);
  built.digest = digest_of(options, built.text);
  built.kernels = std::move(kernels);
  if (take_binary(api, device, options, offered, built)) return built;
  cl_int error = CL_SUCCESS;
  const char* begin = built.text.data();
  const size_t length = built.text.size();
  built.program = Object<cl_program>(
      api.clCreateProgramWithSource(context, 1, &begin, &length, &error), api.clReleaseProgram);
  if (error == CL_SUCCESS) {
    error = api.clBuildProgram(built.program.get(), 1, &device.device, options.c_str(), nullptr,
                               nullptr);
  }
  if (error != CL_SUCCESS) {
    const std::string log =
        built.program ? build_log(api, built.program.get(), device.device) : std::string();
    return base::fail(Code::kWrongTarget, "opencl.build",
                      "the driver of %s can't build the plan's kernels (%s): %.600s",
                      device.info.name, error_name(error), complaint(built.text, log).c_str());
  }
  for (uint32_t i = 0; i < built.kernels.size(); ++i) CAMSHAFT_TRY(make_kernel(api, built, i));
  return built;
}

base::Result<hal::DriverBinary> driver_binary(const Api& api, const FoundDevice& device,
                                              cl_program program, const std::string& digest) {
  hal::DriverBinary binary = {.driver = device.driver, .digest = digest, .bytes = {}};
  size_t size_bytes = 0;
  // One device is the program's, so each list has one element.
  cl_int error = api.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size_bytes,
                                      &size_bytes, nullptr);
  if (error == CL_SUCCESS && size_bytes > 0) {
    binary.bytes.resize(size_bytes);
    auto* to = reinterpret_cast<unsigned char*>(binary.bytes.data());
    error = api.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, static_cast<void*>(&to),
                                 nullptr);
    if (error == CL_SUCCESS) return binary;
  }
  return base::fail(Code::kUnsupported, "opencl.binary",
                    "the driver of %s doesn't say what it made of the plan's kernels (%s)",
                    device.info.name, error_name(error));
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
