// SPDX-License-Identifier: MIT
// Whole files: mapped, read, and written so that a failure leaves the old file as it was. Load time
// only: all of these block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::base {

// A regular file mapped read-only and privately, as long as it was when opened. The file may be
// replaced (by renaming another over it) or removed while it is mapped; cutting it in place makes
// later reads fault, so programs must replace files and not rewrite them. Movable; any thread may
// read.
class MappedFile {
 public:
  struct Options {
    bool populate = false;  // read all pages in at once, for a caller that will touch them all
  };

  // Fails with kNotFound, kInvalidArgument (not a regular file) or kIo.
  static Result<MappedFile> open(const std::string& path, Options options);
  static Result<MappedFile> open(const std::string& path) { return open(path, Options{}); }

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // Page-aligned; lives as long as this object. Empty for an empty file.
  Bytes bytes() const { return {data_, size_bytes_}; }

 private:
  MappedFile(const std::byte* data, size_t size_bytes) : data_(data), size_bytes_(size_bytes) {}

  const std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

// All bytes of a file, or of a pipe that has a writer: none is waited for. Fails with kNotFound,
// kIo, or kInvalidArgument for a folder, a pipe to which nothing was written, or more than
// `max_bytes`.
Result<std::vector<std::byte>> read_file(const std::string& path,
                                         uint64_t max_bytes = uint64_t{1} << 40);

// Writes a temporary file beside `path`, makes it durable and renames it over `path`: after a
// failure or a crash there is the old file or the new one, whole. A symbolic link keeps pointing
// where it does. Devices, and pipes that have a reader, are written to directly. A file that is
// replaced keeps its permissions; a new one gets `new_file_mode`, less the process's umask. Fails
// with kIo, kNotFound (no such folder) or kInvalidArgument (a folder, a pipe that nothing reads).
Status write_file_atomically(const std::string& path, Bytes bytes, uint32_t new_file_mode = 0666);

}  // namespace camshaft::base
