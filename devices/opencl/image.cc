// SPDX-License-Identifier: MIT
#include "devices/opencl/image.h"

#include "runtime/base/bytes.h"

namespace camshaft::opencl {
namespace {

using base::Code;
using base::Result;
using hal::ImageShape;

cl_image_desc describe(const ImageShape& shape) {
  cl_image_desc description = {};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = shape.width;
  description.image_height = shape.height;
  return description;
}

// Whether the device reads such bytes of a buffer as an image.
bool can_alias(const FoundDevice& device, const ImageShape& shape, uint64_t offset_bytes) {
  const uint64_t texel_bytes = shape.texel_bytes();
  return device.image_pitch_texels != 0 && device.image_base_texels != 0 &&
         shape.row_pitch_bytes % (device.image_pitch_texels * texel_bytes) == 0 &&
         offset_bytes % (device.image_base_texels * texel_bytes) == 0 &&
         offset_bytes % device.sub_buffer_alignment == 0;
}

// An image that is part of a buffer; none where the driver does not want to, after all.
Object<cl_mem> make_alias(const Api& api, cl_context context, const ImageShape& shape,
                          const Memory& bytes, uint64_t offset_bytes) {
  const cl_image_format format = image_format(shape.dtype);
  const cl_buffer_region region = {.origin = bytes.offset_bytes + offset_bytes,
                                   .size = shape.size_bytes()};
  cl_int error = CL_SUCCESS;
  Object<cl_mem> part(
      api.clCreateSubBuffer(bytes.object.get(), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error),
      api.clReleaseMemObject);
  if (error != CL_SUCCESS) return {};
  cl_image_desc description = describe(shape);
  description.image_row_pitch = shape.row_pitch_bytes;
  description.buffer = part.get();  // which the image retains
  Object<cl_mem> image(api.clCreateImage(context, 0, &format, &description, nullptr, &error),
                       api.clReleaseMemObject);
  return error == CL_SUCCESS ? std::move(image) : Object<cl_mem>();
}

}  // namespace

cl_image_format image_format(base::DType dtype) {
  const cl_channel_type type = dtype == base::DType::kFloat32   ? CL_FLOAT
                               : dtype == base::DType::kFloat16 ? CL_HALF_FLOAT
                                                                : CL_UNSIGNED_INT8;
  return {.image_channel_order = CL_RGBA, .image_channel_data_type = type};
}

Result<Memory> make_image_over(const Api& api, cl_context context, cl_command_queue queue,
                               const FoundDevice& device, const hal::ImageSource& source,
                               Memory& bytes) {
  const ImageShape& shape = source.shape;
  Memory image;
  image.image = shape;
  image.size_bytes = shape.size_bytes();
  image.base = &bytes;
  image.offset_bytes = source.offset_bytes;
  if (can_alias(device, shape, bytes.offset_bytes + source.offset_bytes)) {
    image.object = make_alias(api, context, shape, bytes, source.offset_bytes);
    image.is_alias = static_cast<bool>(image.object);
    if (image.is_alias) return image;
  }
  const cl_image_format format = image_format(shape.dtype);
  const cl_image_desc description = describe(shape);
  cl_int error = CL_SUCCESS;
  image.object = Object<cl_mem>(
      api.clCreateImage(context, CL_MEM_READ_WRITE, &format, &description, nullptr, &error),
      api.clReleaseMemObject);
  // Bytes that the host sees come with each submit.
  if (error == CL_SUCCESS && source.has_content && bytes.host == nullptr) {
    error = refresh_image(api, queue, image);
  }
  if (error == CL_SUCCESS) return image;
  return base::fail(error == CL_IMAGE_FORMAT_NOT_SUPPORTED || error == CL_INVALID_IMAGE_SIZE
                        ? Code::kUnsupported
                        : Code::kOutOfMemory,
                    "opencl.image", "%s has no image of %u x %u texels of %s: %s", device.info.name,
                    shape.width, shape.height, base::dtype_name(shape.dtype), error_name(error));
}

// OpenCL takes the rows of a buffer to follow one another.
cl_int refresh_image(const Api& api, cl_command_queue queue, const Memory& image) noexcept {
  const ImageShape& shape = image.image;
  const bool is_dense = shape.row_pitch_bytes == shape.width * shape.texel_bytes();
  const size_t rows_at_once = is_dense ? shape.height : 1;
  const size_t region[3] = {shape.width, rows_at_once, 1};
  cl_int error = CL_SUCCESS;
  for (size_t row = 0; row < shape.height && error == CL_SUCCESS; row += rows_at_once) {
    const size_t origin[3] = {0, row, 0};
    error = api.clEnqueueCopyBufferToImage(
        queue, image.base->object.get(), image.object.get(),
        image.base->offset_bytes + image.offset_bytes + row * shape.row_pitch_bytes, origin, region,
        0, nullptr, nullptr);
  }
  return error;
}

}  // namespace camshaft::opencl
