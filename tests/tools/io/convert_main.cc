// SPDX-License-Identifier: MIT
// convert FROM TO: reads a .npy, .npz or .png file and writes one, for tests against other
// libraries. A .png becomes an array [height][width][channels]. Exits with the failure's code.
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/log_ring.h"
#include "tools/io/npy.h"
#include "tools/io/npz.h"
#include "tools/io/png.h"

namespace camshaft::io {
namespace {

using Tensors = std::vector<NamedTensor>;

base::Result<Tensors> read_any(const std::string& path) {
  if (path.ends_with(".npz")) return read_npz(path);
  Tensors tensors(1);
  if (path.ends_with(".png")) {
    CAMSHAFT_TRY_ASSIGN(const Picture picture, read_png(path));
    tensors[0].tensor = {
        base::DType::kUInt8, {picture.height, picture.width, picture.channels}, {}};
    const base::Bytes pixels = base::as_bytes(std::span(picture.pixels));
    tensors[0].tensor.bytes.assign(pixels.begin(), pixels.end());
  } else {
    CAMSHAFT_TRY_ASSIGN(tensors[0].tensor, read_npy(path));
  }
  return tensors;
}

base::Status write_any(const std::string& path, const Tensors& tensors) {
  if (path.ends_with(".npz")) return write_npz(path, tensors);
  const Tensor& tensor = tensors.at(0).tensor;
  if (!path.ends_with(".png")) return write_npy(path, tensor);
  Picture picture{static_cast<int32_t>(tensor.shape.at(1)),
                  static_cast<int32_t>(tensor.shape.at(0)),
                  static_cast<int32_t>(tensor.shape.at(2)),
                  {}};
  picture.pixels.resize(tensor.bytes.size());
  std::memcpy(picture.pixels.data(), tensor.bytes.data(), tensor.bytes.size());
  return write_png(path, picture);
}

int convert(const std::string& from, const std::string& to) {
  const base::Result<Tensors> tensors = read_any(from);
  const base::Status status = tensors ? write_any(to, *tensors) : tensors.error();
  for (const base::LogLine& line : base::log_lines_after(0)) {
    std::fprintf(stderr, "%s\n", line.text.c_str());
  }
  return base::exit_code(status.code());
}

}  // namespace
}  // namespace camshaft::io

int main(int count, char** arguments) {
  return count == 3 ? camshaft::io::convert(arguments[1], arguments[2]) : 2;
}
