// SPDX-License-Identifier: MIT
#include "runtime/plan/signature.h"

#include <sys/stat.h>

#include <string>

#include <catch2/catch.hpp>

#include "runtime/base/file.h"
#include "runtime/plan/format.h"
#include "runtime/plan/reader.h"
#include "runtime/plan/signing.h"
#include "tests/runtime/plan/sample_plan.h"
#include "tests/support/last_sentence.h"
#include "tests/support/temporary_folder.h"

namespace camshaft::plan {
namespace {

using base::Code;
using Catch::Contains;
using File = std::vector<std::byte>;

SigningKey key_of(uint8_t number) {
  SigningKey::Seed seed{};
  seed[0] = number;
  return SigningKey::from_seed(seed);
}

Code code_with_key(const File& file, const SigningKey& key) {
  return PlanFile::from_bytes(file, {.public_key = key.public_key()}).error().code();
}

Code code_without_key(const File& file) {
  return PlanFile::from_bytes(file).error().code();
}

std::string hex(const PublicKey& key) {
  return to_hex(std::as_bytes(std::span(key)));
}

TEST_CASE("keys and signatures are those of RFC 8032 and RFC 7693") {
  // RFC 8032, 7.1, test 1: its secret key, public key and signature of the empty message.
  SigningKey::Seed seed;
  REQUIRE(from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                   std::as_writable_bytes(std::span(seed))));
  CHECK(hex(SigningKey::from_seed(seed).public_key()) ==
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  const Digest empty = digest({});
  CHECK(to_hex(std::as_bytes(std::span(empty))) ==
        "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

TEST_CASE("a signed plan opens with its key and without any") {
  const SigningKey key = key_of(1);
  const File signed_file = sign_plan(test::write_sample(), key).value();
  const PlanFile plan = PlanFile::from_bytes(signed_file, {.public_key = key.public_key()}).value();
  CHECK(plan.info() == test::make_sample().info);
  CHECK(plan.signer() == key.public_key());
  CHECK(code_without_key(signed_file) == Code::kOk);
  CHECK(sign_plan(test::write_sample(), key).value() == signed_file);
}

TEST_CASE("with a key configured, other files are refused") {
  const SigningKey key = key_of(1);
  CHECK(code_with_key(test::write_sample(), key) == Code::kCorrupt);
  CHECK_THAT(camshaft::test::last_sentence(),
             Contains("is not signed, but a public key is configured"));
  CHECK(code_with_key(sign_plan(test::write_sample(), key_of(2)).value(), key) == Code::kCorrupt);
  CHECK_THAT(camshaft::test::last_sentence(), Contains("is not signed by the configured key"));
}

TEST_CASE("a signature is of the content") {
  const SigningKey key = key_of(1);
  PlanContents other = test::make_sample();
  other.sections[0].bytes[0] ^= std::byte{1};
  File file = sign_plan(write_plan(other).value(), key).value();
  REQUIRE(code_with_key(file, key) == Code::kOk);
  // Another content of the same size with this one's trailer: whole, but not what was signed.
  const File original = sign_plan(test::write_sample(), key).value();
  std::copy(original.end() - kTrailerBytes, original.end(), file.end() - kTrailerBytes);
  CHECK(code_without_key(file) == Code::kOk);
  CHECK(code_with_key(file, key) == Code::kCorrupt);
}

TEST_CASE("the trailer is checked, key or no key, in every bit") {
  const SigningKey key = key_of(1);
  const File file = sign_plan(test::write_sample(), key).value();
  for (size_t bit = 0; bit < kTrailerBytes * 8; ++bit) {
    File flipped = file;
    flipped[file.size() - kTrailerBytes + bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    REQUIRE(code_without_key(flipped) == Code::kCorrupt);
    REQUIRE(code_with_key(flipped, key) == Code::kCorrupt);
  }
}

TEST_CASE("a signature of a later scheme is no obstacle without a key") {
  const SigningKey key = key_of(1);
  File file = sign_plan(test::write_sample(), key).value();
  std::byte* at = file.data() + file.size() - kTrailerBytes;
  Trailer trailer = decode_trailer(at, "x").value();
  trailer.scheme = 2;
  encode_trailer(trailer, at);
  CHECK(code_without_key(file) == Code::kOk);
  CHECK(code_with_key(file, key) == Code::kWrongTarget);
}

TEST_CASE("signing anew replaces the signature, and damage is not signed") {
  File file = sign_plan(test::write_sample(), key_of(1)).value();
  const File again = sign_plan(file, key_of(2)).value();
  CHECK(again.size() == file.size());
  CHECK(code_with_key(again, key_of(2)) == Code::kOk);
  CHECK(again == sign_plan(test::write_sample(), key_of(2)).value());
  file[5000] ^= std::byte{1};
  CHECK(sign_plan(file, key_of(2)).error().code() == Code::kCorrupt);
}

TEST_CASE("keys go to files and come back") {
  const camshaft::test::TemporaryFolder folder;
  const std::string path = folder / "key";
  const SigningKey key = SigningKey::generate().value();
  CHECK(key.public_key() != SigningKey::generate().value().public_key());
  REQUIRE(key.save(path).is_ok());
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0077) == 0);
  CHECK(SigningKey::load(path).value().public_key() == key.public_key());
  CHECK(load_public_key(path + ".pub").value() == key.public_key());
  CHECK(SigningKey::load(folder / "none").error().code() == Code::kNotFound);
}

TEST_CASE("key files in their other forms") {
  const camshaft::test::TemporaryFolder folder;
  const std::string path = folder / "key";
  const SigningKey key = key_of(1);
  const std::string seed = "\x01" + std::string(31, '\0');
  const PublicKey public_key = key.public_key();
  const std::string public_raw(public_key.begin(), public_key.end());
  const auto write = [&](const std::string& text) {
    REQUIRE(base::write_file_atomically(path, base::as_bytes(text)).is_ok());
  };
  for (const std::string& text : {seed, seed + public_raw, to_hex(base::as_bytes(seed)) + "\r\n",
                                  to_hex(base::as_bytes(seed + public_raw))}) {
    write(text);
    const auto loaded = SigningKey::load(path);
    REQUIRE(loaded.has_value());
    CHECK(loaded->public_key() == public_key);
  }
  write(public_raw);
  CHECK(load_public_key(path).value() == public_key);
  for (const std::string& text :
       {std::string(), std::string(31, 'a'), std::string(63, 'a'), std::string(65, 'g')}) {
    write(text);
    CHECK(SigningKey::load(path).error().code() == Code::kInvalidArgument);
    CHECK(load_public_key(path).error().code() == Code::kInvalidArgument);
  }
  write(seed + std::string(32, 'x'));
  CHECK(SigningKey::load(path).error().code() == Code::kInvalidArgument);
}

TEST_CASE("hex goes both ways") {
  std::byte bytes[2];
  CHECK(from_hex("0aFf", bytes));
  CHECK(to_hex(bytes) == "0aff");
  CHECK(!from_hex("0aF", bytes));
  CHECK(!from_hex("0aFg", bytes));
  CHECK(!from_hex("0aFf0", bytes));
}

}  // namespace
}  // namespace camshaft::plan
