// SPDX-License-Identifier: MIT
#include "tools/io/zip.h"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <string>

#include "runtime/base/log_ring.h"
#include "tools/io/npy.h"
#include "tools/io/npz.h"

namespace camshaft::io {
namespace {

using base::Code;

std::vector<std::byte> to_bytes(const std::string& text) {
  const base::Bytes bytes = base::as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> sample_zip() {
  base::Result<std::vector<std::byte>> archive =
      make_zip({{"a.txt", to_bytes("first")}, {"b.txt", to_bytes("the second one")}});
  REQUIRE(archive.has_value());
  return std::move(archive).value();
}

// The code of reading everything in an archive.
Code read_all(base::Bytes archive) {
  base::Result<std::vector<ZipEntry>> entries = list_zip(archive, "x.zip");
  if (!entries) return entries.error().code();
  for (const ZipEntry& entry : *entries) {
    const auto content = extract_zip(archive, entry, "x.zip");
    if (!content) return content.error().code();
  }
  return Code::kOk;
}

// An archive of one deflated entry, which says that it has `content_bytes`.
std::vector<std::byte> deflated_zip(const std::string& content, uint32_t content_bytes) {
  std::string packed(compressBound(content.size()) + 16, '\0');
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  // Made as a stored entry, then told otherwise: method and size, in both headers.
  std::vector<std::byte> archive = make_zip({{"a", to_bytes(packed)}}).value();
  const auto crc = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
  std::byte* central = archive.data() + 30 + 1 + packed.size();
  base::store_le<uint16_t>(central + 10, 8);
  base::store_le<uint32_t>(central + 16, crc);
  base::store_le<uint32_t>(central + 24, content_bytes);
  return archive;
}

TEST_CASE("what is packed comes out") {
  const std::vector<std::byte> archive = sample_zip();
  const base::Result<std::vector<ZipEntry>> entries = list_zip(archive, "x.zip");
  REQUIRE(entries.has_value());
  REQUIRE(entries->size() == 2);
  CHECK((*entries)[0].name == "a.txt");
  CHECK(extract_zip(archive, (*entries)[1], "x.zip").value() == to_bytes("the second one"));
  CHECK(sample_zip() == archive);
}

TEST_CASE("deflated entries come out") {
  const std::string content(10000, 'x');
  const std::vector<std::byte> archive = deflated_zip(content, 10000);
  const auto entries = list_zip(archive, "x.zip");
  REQUIRE(entries.has_value());
  CHECK(extract_zip(archive, entries->front(), "x.zip").value() == to_bytes(content));
}

TEST_CASE("a size that deflate can't reach is refused before memory is taken") {
  const std::string content(10000, 'x');
  CHECK(read_all(deflated_zip(content, 10000)) == Code::kOk);
  CHECK(read_all(deflated_zip(content, 9999)) == Code::kCorrupt);
  CHECK(read_all(deflated_zip(content, 10001)) == Code::kCorrupt);
  const uint64_t before = base::log_sequence();
  CHECK(read_all(deflated_zip(content, 0xfffffffe)) == Code::kCorrupt);
  CHECK(base::log_lines_after(before).back().text.find("impossible") != std::string::npos);
}

TEST_CASE("an archive cut anywhere, or with any bit of its content flipped, is damaged") {
  const std::vector<std::byte> whole = sample_zip();
  REQUIRE(read_all(whole) == Code::kOk);
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK(read_all(base::Bytes(whole).first(size)) == Code::kCorrupt);
  }
  for (size_t i = 35; i < 40; ++i) {  // "first"
    std::vector<std::byte> flipped = whole;
    flipped[i] ^= std::byte{1};
    CHECK(read_all(flipped) == Code::kCorrupt);
  }
}

TEST_CASE("entries that share their bytes are refused") {
  // Both entries of the directory point to the first, larger one.
  std::vector<std::byte> archive =
      make_zip({{"a", std::vector<std::byte>(200)}, {"b", to_bytes("x")}}).value();
  const std::byte* end = archive.data() + archive.size() - 22;
  std::byte* second = archive.data() + base::load_le<uint32_t>(end + 16) + 46 + 1;
  base::store_le<uint32_t>(second + 20, 200);
  base::store_le<uint32_t>(second + 24, 200);
  base::store_le<uint32_t>(second + 42, 0);
  const uint64_t before = base::log_sequence();
  CHECK(read_all(archive) == Code::kCorrupt);
  CHECK(base::log_lines_after(before).back().text.find("overlap") != std::string::npos);
}

TEST_CASE("what is not read is said to be so") {
  const std::vector<std::byte> whole = sample_zip();
  const size_t directory = base::load_le<uint32_t>(whole.data() + whole.size() - 22 + 16);
  const auto with = [&](size_t offset, uint16_t value) {
    std::vector<std::byte> changed = whole;
    base::store_le<uint16_t>(changed.data() + directory + offset, value);
    return read_all(changed);
  };
  CHECK(with(8, 1) == Code::kUnsupported);    // encrypted
  CHECK(with(10, 12) == Code::kUnsupported);  // bzip2
  std::vector<std::byte> large = whole;
  base::store_le<uint32_t>(large.data() + large.size() - 22 + 16, 0xffffffff);
  CHECK(read_all(large) == Code::kUnsupported);  // zip64
}

TEST_CASE("two entries of one name are refused") {
  CHECK(read_all(make_zip({{"a", {}}, {"b", {}}}).value()) == Code::kOk);
  CHECK(read_all(make_zip({{"a", {}}, {"a", {}}}).value()) == Code::kCorrupt);
}

TEST_CASE("arrays in archives keep name, type and data") {
  const std::vector<NamedTensor> tensors = {
      {"image", {base::DType::kUInt8, {2, 2}, to_bytes("abcd")}},
      {"odd/name", {base::DType::kFloat64, {}, std::vector<std::byte>(8)}}};
  const auto again = parse_npz(encode_npz(tensors).value(), "x.npz");
  REQUIRE(again.has_value());
  REQUIRE(again->size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK((*again)[i].name == tensors[i].name);
    CHECK((*again)[i].tensor.dtype == tensors[i].tensor.dtype);
    CHECK((*again)[i].tensor.shape == tensors[i].tensor.shape);
    CHECK((*again)[i].tensor.bytes == tensors[i].tensor.bytes);
  }
}

TEST_CASE("an archive of something else than arrays is damaged, and the entry named") {
  const uint64_t before = base::log_sequence();
  CHECK(parse_npz(sample_zip(), "x.npz").error().code() == Code::kCorrupt);
  CHECK(base::log_lines_after(before).back().text == "a.txt in x.npz is no .npy file");
}

}  // namespace
}  // namespace camshaft::io
