// SPDX-License-Identifier: MIT
#include "devices/opencl/image.h"
#include "devices/opencl/import_kinds.h"

namespace camshaft::opencl {
namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr uint32_t fourcc(char a, char b, char c, char d) {
  return static_cast<uint32_t>(a) | static_cast<uint32_t>(b) << 8 | static_cast<uint32_t>(c) << 16 |
         static_cast<uint32_t>(d) << 24;
}

// What DRM calls texels of R, G, B, A in the order of memory; 0 for none.
uint32_t drm_format(base::DType dtype) {
  switch (dtype) {
    case base::DType::kUInt8:
      return fourcc('A', 'B', '2', '4');
    case base::DType::kFloat16:
      return fourcc('A', 'B', '4', 'H');
    default:
      return 0;
  }
}

template <typename T>
T image_value(const Api& api, cl_mem object, cl_image_info what) {
  T value = {};
  return api.clGetImageInfo(object, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value
                                                                                       : T{};
}

Status check_format(const ImportTo& to, const hal::ForeignMemory& memory, cl_mem object) {
  const base::DType dtype = memory.image.dtype;
  const auto present = image_value<cl_image_format>(to.api, object, CL_IMAGE_FORMAT);
  const cl_image_format wanted = image_format(dtype);
  if (present.image_channel_order != wanted.image_channel_order ||
      present.image_channel_data_type != wanted.image_channel_data_type) {
    return base::fail(
        Code::kInvalidArgument, "opencl.import",
        "the image's texels are of channel order %#x and type %#x, but RGBA texels of "
        "%s are %#x and %#x: make the image so",
        present.image_channel_order, present.image_channel_data_type, base::dtype_name(dtype),
        wanted.image_channel_order, wanted.image_channel_data_type);
  }
  if (memory.format != 0 && memory.format != drm_format(dtype)) {
    return base::fail(
        Code::kInvalidArgument, "opencl.import",
        "DRM format %#x is not that of RGBA texels of %s (%#x): leave it 0, or import "
        "another image",
        memory.format, base::dtype_name(dtype), drm_format(dtype));
  }
  return base::ok();
}

Status check_extent(const ImportTo& to, const hal::ForeignMemory& memory, cl_mem object) {
  const uint64_t width = image_value<size_t>(to.api, object, CL_IMAGE_WIDTH);
  const uint64_t height = image_value<size_t>(to.api, object, CL_IMAGE_HEIGHT);
  if (width != memory.image.width || height != memory.image.height) {
    return base::fail(Code::kInvalidArgument, "opencl.import",
                      "the image has %llu x %llu texels, not %u x %u", wide(width), wide(height),
                      memory.image.width, memory.image.height);
  }
  const uint64_t pitch = image_value<size_t>(to.api, object, CL_IMAGE_ROW_PITCH);
  if (memory.row_pitch_bytes != 0 && memory.row_pitch_bytes != pitch) {
    return base::fail(Code::kInvalidArgument, "opencl.import",
                      "the image's rows begin every %llu bytes, not every %llu: leave the pitch 0 "
                      "if it does not matter",
                      wide(pitch), wide(memory.row_pitch_bytes));
  }
  return base::ok();
}

}  // namespace

Result<Memory> import_image(const ImportTo& to, const hal::ForeignMemory& memory) {
  CAMSHAFT_TRY(check_object(to, memory, CL_MEM_OBJECT_IMAGE2D));
  auto* object = reinterpret_cast<cl_mem>(memory.handle);
  if (memory.offset_bytes != 0) {
    return base::fail(Code::kInvalidArgument, "opencl.import",
                      "an image is imported as a whole: leave the offset 0");
  }
  CAMSHAFT_TRY(check_format(to, memory, object));
  CAMSHAFT_TRY(check_extent(to, memory, object));
  CAMSHAFT_TRY_ASSIGN(Memory imported, retain_object(to, memory));
  imported.image = memory.image;
  return imported;
}

}  // namespace camshaft::opencl
