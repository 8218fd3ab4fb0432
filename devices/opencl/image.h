// SPDX-License-Identifier: MIT
// Images over buffers. Load time, but for refresh_image().
//
// Where the device can read a buffer as an image (OpenCL 2.0, or cl_khr_image2d_from_buffer), and
// the bytes begin and their rows follow as it wants them to, the image is the buffer's memory.
// Otherwise it has memory of its own.
#pragma once

#include "devices/hal/device.h"
#include "devices/opencl/api.h"
#include "devices/opencl/device_list.h"
#include "devices/opencl/memory.h"

namespace camshaft::opencl {

// What clCreateImage and its like call the texels of an image of this dtype.
cl_image_format image_format(base::DType dtype);

// `bytes` is the source's buffer, which outlives the image and is not used by work. The content is
// there once the queue is done. kOutOfMemory, kUnsupported with the reason.
base::Result<Memory> make_image_over(const Api& api, cl_context context, cl_command_queue queue,
                                     const FoundDevice& device, const hal::ImageSource& source,
                                     Memory& bytes);

// hot path. Copies the bytes of `image.base` to an image that has memory of its own.
cl_int refresh_image(const Api& api, cl_command_queue queue, const Memory& image) noexcept;

}  // namespace camshaft::opencl
