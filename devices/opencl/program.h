// SPDX-License-Identifier: MIT
// Programs: OpenCL C text built for one device, or what its driver made of the text earlier. Load
// time.
//
// A kernel of a plan is `__kernel void NAME(...)` with, for each argument of a launch that is
// memory, two parameters: a __global pointer to bytes (uchar) and a ulong, the offset in bytes at
// which the argument begins; for each that is an image, an image2d_t; for each scalar one, a ulong
// that holds its bits. (A sub-buffer would need offsets that some devices align to 512 bytes.)
#pragma once

#include <string>
#include <vector>

#include "devices/hal/device.h"
#include "devices/opencl/api.h"
#include "devices/opencl/device_list.h"

namespace camshaft::opencl {

struct BuiltProgram {
  Object<cl_program> program;
  cl_context context = nullptr;
  std::string text;
  std::string digest;                // of the text and of how it is built
  std::vector<std::string> kernels;  // by the index that launches use; all are in the program
  // For what is built from more than this text (single_launch.h): this driver's that were offered.
  std::vector<hal::DriverBinary> offered;
};

// Blocks while the driver compiles. A driver's binary that fits is used instead of the text; where
// there are some and none does, or the driver doesn't take it, a notice says so. kUnsupported for
// other formats, kCorrupt where a kernel is missing, kWrongTarget for text that the driver refuses,
// with the kernel's name and what the driver says from its first complaint on.
base::Result<BuiltProgram> build_program(const Api& api, cl_context context,
                                         const FoundDevice& device, const hal::ProgramImage& image);

// The same of text, with these kernels.
base::Result<BuiltProgram> build_text(const Api& api, cl_context context, const FoundDevice& device,
                                      std::string text, std::vector<std::string> kernels,
                                      std::span<const hal::DriverBinaryView> offered);

// What the driver made of a program. kUnsupported where it doesn't say.
base::Result<hal::DriverBinary> driver_binary(const Api& api, const FoundDevice& device,
                                              cl_program program, const std::string& digest);

// A new kernel object, which holds arguments of its own.
base::Result<Object<cl_kernel>> make_kernel(const Api& api, const BuiltProgram& program,
                                            uint32_t kernel);

}  // namespace camshaft::opencl
