// SPDX-License-Identifier: MIT
#include "runtime/session/port.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace camshaft::session {
namespace {

using base::Code;
using base::Status;

constexpr uint64_t kLeastBytes = 1;  // an empty tensor, too, needs a buffer to bind

// "f32 [1,3,224,224]", cut where it is long.
class TensorText {
 public:
  TensorText(base::DType dtype, std::span<const int64_t> shape) noexcept {
    if (shape.size() > plan::kMaxRank) {
      append("%s of rank %zu", base::dtype_name(dtype), shape.size());
      return;
    }
    append("%s [", base::dtype_name(dtype));
    for (size_t i = 0; i < shape.size(); ++i) append("%s%" PRId64, i == 0 ? "" : ",", shape[i]);
    append("%s", "]");
  }
  const char* c_str() const { return text_; }

 private:
  template <typename... Args>
  void append(const char* format, Args... args) noexcept {
    const int written = std::snprintf(text_ + length_, sizeof text_ - length_, format, args...);
    length_ = std::min(length_ + static_cast<size_t>(std::max(written, 0)), sizeof text_ - 1);
  }

  char text_[128] = "";
  size_t length_ = 0;
};

// Whether steps along one of the tensor's axes are that long.
bool has_stride(const plan::TensorInfo& info, uint64_t stride_bytes) noexcept {
  auto step_bytes = static_cast<uint64_t>(base::dtype_size_bytes(info.dtype));
  for (auto extent = info.shape.rbegin(); extent != info.shape.rend(); ++extent) {
    if (step_bytes == stride_bytes) return true;
    step_bytes *= static_cast<uint64_t>(*extent);
  }
  return step_bytes == stride_bytes;
}

const char* kind_name(const Port& port) {
  return port.is_output ? "output" : "input";
}

}  // namespace

base::Result<Port> make_port(hal::Device& device, const plan::TensorInfo& info, bool is_output) {
  Port port;
  port.info = &info;
  port.size_bytes = info.size_bytes();
  port.is_output = is_output;
  CAMSHAFT_TRY_ASSIGN(port.own,
                      OwnedBuffer::allocate(device, std::max(port.size_bytes, kLeastBytes),
                                            hal::MemoryKind::kHostVisible));
  return port;
}

Status check_tensor(const Port& port, base::DType dtype, std::span<const int64_t> shape,
                    uint64_t size_bytes) noexcept {
  const plan::TensorInfo& info = *port.info;
  const TensorText expected(info.dtype, info.shape);
  if (dtype != info.dtype ||
      !std::equal(shape.begin(), shape.end(), info.shape.begin(), info.shape.end())) {
    return base::fail(Code::kInvalidArgument, "session.tensor", "the %s '%.100s' is %s, not %s",
                      kind_name(port), info.name.c_str(), expected.c_str(),
                      TensorText(dtype, shape).c_str());
  }
  if (size_bytes != port.size_bytes) {
    return base::fail(Code::kInvalidArgument, "session.tensor",
                      "the %s '%.100s' is %s: %" PRIu64 " bytes, not %" PRIu64, kind_name(port),
                      info.name.c_str(), expected.c_str(), port.size_bytes, size_bytes);
  }
  return base::ok();
}

Status check_memory(const Port& port, const ImportedMemory& memory) noexcept {
  const plan::TensorInfo& info = *port.info;
  if (!memory.image.has_texels_of(port.image)) {
    const auto text = [](const hal::ImageShape& image, char(&buffer)[64]) {
      std::snprintf(buffer, sizeof buffer,
                    image.is_image() ? "an image of %u x %u texels of %s" : "bytes, not an image",
                    image.width, image.height, base::dtype_name(image.dtype));
      return buffer;
    };
    char wanted[64];
    char given[64];
    return base::fail(Code::kInvalidArgument, "session.bind",
                      "the %s '%.100s' is read as %s; the memory is %s", kind_name(port),
                      info.name.c_str(), text(port.image, wanted), text(memory.image, given));
  }
  if (memory.image.is_image()) return base::ok();
  if (memory.size_bytes < port.size_bytes) {
    return base::fail(Code::kInvalidArgument, "session.bind",
                      "the %s '%.100s' is %s and needs %" PRIu64 " bytes; the memory has %" PRIu64,
                      kind_name(port), info.name.c_str(),
                      TensorText(info.dtype, info.shape).c_str(), port.size_bytes,
                      memory.size_bytes);
  }
  if (memory.row_pitch_bytes != 0 && !has_stride(info, memory.row_pitch_bytes)) {
    return base::fail(Code::kInvalidArgument, "session.bind",
                      "the memory's rows begin every %" PRIu64
                      " bytes; the %s '%.100s' is %s, none "
                      "of whose axes has that stride: make the pitch one of the model's extents, "
                      "and crop in the model",
                      memory.row_pitch_bytes, kind_name(port), info.name.c_str(),
                      TensorText(info.dtype, info.shape).c_str());
  }
  if (port.is_output && !memory.writable) {
    return base::fail(Code::kInvalidArgument, "session.bind",
                      "the output '%.100s' needs memory that was imported as writable",
                      info.name.c_str());
  }
  return base::ok();
}

}  // namespace camshaft::session
