// SPDX-License-Identifier: MIT
// libpng reports errors by longjmp. Each function that it may jump through holds only plain data,
// so that no destructor is skipped; everything else is made by its caller.
#include "tools/io/png.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "runtime/base/file.h"

namespace camshaft::io {
namespace {

using base::Bytes;
using base::Code;

constexpr uint32_t kMaxSide = 1 << 15;
constexpr png_alloc_size_t kMaxChunkBytes = 1 << 20;  // of text, profiles and the like
// Deflate packs at most 1032 bytes into one, so a larger picture can't be in the file.
constexpr uint64_t kMaxRatio = 1032;

struct Trouble {
  char text[128] = "";
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto* trouble = static_cast<Trouble*>(png_get_error_ptr(png));
  std::snprintf(trouble->text, sizeof trouble->text, "%s", text);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

struct Source {
  Bytes rest;
};

void read_bytes(png_structp png, png_bytep to, size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->rest.size()) png_error(png, "it ends too early");
  std::memcpy(to, source->rest.data(), count);
  source->rest = source->rest.subspan(count);
}

// libpng's objects for reading, or for writing.
struct Reader {
  Trouble trouble;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &trouble, on_error, on_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);

  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};
struct Writer {
  Trouble trouble;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &trouble, on_error, on_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);

  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { png_destroy_write_struct(&png, &info); }
};

// Reads up to the pixels and asks for 8 bits a channel. False: see trouble.
bool read_head(Reader& reader, Source& source) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &source, read_bytes);
  png_set_user_limits(reader.png, kMaxSide, kMaxSide);
  png_set_chunk_malloc_max(reader.png, kMaxChunkBytes);
  png_set_chunk_cache_max(reader.png, 16);
  png_set_crc_action(reader.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(reader.png, reader.info);
  png_set_scale_16(reader.png);
  png_set_expand(reader.png);  // palette to RGB, small grays to 8 bits, tRNS to alpha
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_rows(Reader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

void append_bytes(png_structp png, png_bytep from, size_t count) {
  auto* to = static_cast<std::vector<std::byte>*>(png_get_io_ptr(png));
  const auto* bytes = reinterpret_cast<const std::byte*>(from);
  to->insert(to->end(), bytes, bytes + count);
}

void no_flush(png_structp) {}

bool write_all(Writer& writer, const Picture& picture, png_bytepp rows,
               std::vector<std::byte>& to) {
  constexpr int kColorTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(writer.png)) != 0) return false;
  png_set_write_fn(writer.png, &to, append_bytes, no_flush);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(picture.width),
               static_cast<png_uint_32>(picture.height), 8, kColorTypes[picture.channels - 1],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer.png, writer.info);
  png_write_image(writer.png, rows);
  png_write_end(writer.png, nullptr);
  return true;
}

// Libpng's rows, which it doesn't write to when it encodes.
std::vector<png_bytep> rows_of(const Picture& picture) {
  std::vector<png_bytep> rows;
  const size_t row_bytes =
      static_cast<size_t>(picture.width) * static_cast<size_t>(picture.channels);
  for (size_t y = 0; y < static_cast<size_t>(picture.height); ++y) {
    rows.push_back(const_cast<png_bytep>(picture.pixels.data()) + y * row_bytes);
  }
  return rows;
}

base::Status damaged(const std::string& file, const char* what) {
  return base::fail(Code::kCorrupt, "png.damaged", "%s is damaged: %s", file.c_str(), what);
}

}  // namespace

base::Result<Picture> parse_png(Bytes bytes, const std::string& file) {
  if (bytes.size() < 8 || png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, 8) != 0) {
    return base::fail(Code::kCorrupt, "png.magic", "%s is no PNG picture", file.c_str());
  }
  Reader reader;
  if (reader.info == nullptr) {
    return base::fail(Code::kOutOfMemory, "png.memory", "no memory to read %s", file.c_str());
  }
  Source source{bytes};
  if (!read_head(reader, source)) return damaged(file, reader.trouble.text);
  Picture picture;
  picture.width = static_cast<int32_t>(png_get_image_width(reader.png, reader.info));
  picture.height = static_cast<int32_t>(png_get_image_height(reader.png, reader.info));
  picture.channels = png_get_channels(reader.png, reader.info);
  const uint64_t size = static_cast<uint64_t>(picture.width) *
                        static_cast<uint64_t>(picture.height) *
                        static_cast<uint64_t>(picture.channels);
  // Before it is expanded, a picture may have one bit for each of our four bytes.
  if (size / 32 > bytes.size() * kMaxRatio) return damaged(file, "it is too short for its size");
  picture.pixels.resize(size);
  std::vector<png_bytep> rows = rows_of(picture);
  if (!read_rows(reader, rows.data())) return damaged(file, reader.trouble.text);
  return picture;
}

base::Result<std::vector<std::byte>> encode_png(const Picture& picture) {
  const bool is_sane = picture.width > 0 && picture.height > 0 && picture.channels >= 1 &&
                       picture.channels <= 4 &&
                       picture.pixels.size() == static_cast<uint64_t>(picture.width) *
                                                    static_cast<uint64_t>(picture.height) *
                                                    static_cast<uint64_t>(picture.channels);
  Writer writer;
  std::vector<std::byte> bytes;
  std::vector<png_bytep> rows;
  if (is_sane && writer.info != nullptr) rows = rows_of(picture);
  if (rows.empty() || !write_all(writer, picture, rows.data(), bytes)) {
    return base::fail(Code::kInvalidArgument, "png.encode",
                      "a picture of %d x %d pixels, %d channels and %zu bytes can't be written%s%s",
                      picture.width, picture.height, picture.channels, picture.pixels.size(),
                      writer.trouble.text[0] == '\0' ? "" : ": ", writer.trouble.text);
  }
  return bytes;
}

base::Result<Picture> read_png(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, base::read_file(path));
  return parse_png(bytes, path);
}

base::Status write_png(const std::string& path, const Picture& picture) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, encode_png(picture));
  return base::write_file_atomically(path, bytes);
}

}  // namespace camshaft::io
