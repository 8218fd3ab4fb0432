// SPDX-License-Identifier: MIT
#include "runtime/plan/signature.h"

#include <sodium.h>

#include <cstring>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/plan/damage.h"
#include "runtime/plan/format.h"

namespace camshaft::plan {
namespace {

using base::load_le;
using base::store_le;

// Offsets in the trailer; what is between the signature and the hash is zero.
constexpr size_t kSignerOffset = 8;
constexpr size_t kSignatureOffset = 40;
constexpr size_t kHashOffset = 112;
static_assert(kSignatureOffset + sizeof(Signature) <= kHashOffset);
static_assert(kHashOffset + 16 == kTrailerBytes);
static_assert(sizeof(PublicKey) == crypto_sign_PUBLICKEYBYTES);
static_assert(sizeof(Signature) == crypto_sign_BYTES);
static_assert(sizeof(Digest) == crypto_generichash_BYTES);

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void encode_trailer(const Trailer& trailer, std::byte* to) {
  std::memset(to, 0, kTrailerBytes);
  store_le<uint32_t>(to, trailer.scheme);
  std::memcpy(to + kSignerOffset, trailer.signer.data(), trailer.signer.size());
  std::memcpy(to + kSignatureOffset, trailer.signature.data(), trailer.signature.size());
  const Hash128 hash = checksum({to, kHashOffset});
  store_le<uint64_t>(to + kHashOffset, hash.low);
  store_le<uint64_t>(to + kHashOffset + 8, hash.high);
}

base::Result<Trailer> decode_trailer(const std::byte* from, const std::string& file) {
  const Hash128 stored = {load_le<uint64_t>(from + kHashOffset),
                          load_le<uint64_t>(from + kHashOffset + 8)};
  if (stored != checksum({from, kHashOffset})) {
    return damaged(file, "plan.signature", "its signature does not match its checksum");
  }
  Trailer trailer;
  trailer.scheme = load_le<uint32_t>(from);
  std::memcpy(trailer.signer.data(), from + kSignerOffset, trailer.signer.size());
  std::memcpy(trailer.signature.data(), from + kSignatureOffset, trailer.signature.size());
  return trailer;
}

Digest digest(base::Bytes bytes) {
  Digest result;
  crypto_generichash(result.data(), result.size(),
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr,
                     0);
  return result;
}

bool is_signature_good(base::Bytes signed_bytes, const Signature& signature, const PublicKey& key) {
  const Digest signed_digest = digest(signed_bytes);
  return crypto_sign_verify_detached(signature.data(), signed_digest.data(), signed_digest.size(),
                                     key.data()) == 0;
}

base::Result<PublicKey> load_public_key(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, base::read_file(path, kMostKeyFileBytes));
  PublicKey key;
  std::string_view text = base::as_text(bytes);
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  if (bytes.size() == key.size()) {
    std::memcpy(key.data(), bytes.data(), key.size());
    return key;
  }
  if (from_hex(text, std::as_writable_bytes(std::span(key)))) return key;
  return base::fail(base::Code::kInvalidArgument, "plan.public_key",
                    "%s is no public key: 32 bytes or 64 hex digits are needed", path.c_str());
}

std::string to_hex(base::Bytes bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text.push_back(kDigits[static_cast<int>(byte) >> 4]);
    text.push_back(kDigits[static_cast<int>(byte) & 15]);
  }
  return text;
}

bool from_hex(std::string_view text, std::span<std::byte> bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

}  // namespace camshaft::plan
