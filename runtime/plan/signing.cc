// SPDX-License-Identifier: MIT
#include "runtime/plan/signing.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/file.h"
#include "runtime/plan/format.h"
#include "runtime/plan/reader.h"

namespace camshaft::plan {
namespace {

static_assert(sizeof(SigningKey::Seed) == crypto_sign_SEEDBYTES);

// Wipes a buffer that held a secret.
template <typename T>
class Wiped {
 public:
  explicit Wiped(T& secret) : secret_(secret) {}
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
  ~Wiped() { sodium_memzero(secret_.data(), secret_.size() * sizeof(secret_[0])); }

 private:
  T& secret_;
};

}  // namespace

base::Result<SigningKey> SigningKey::generate() {
  if (sodium_init() < 0) {
    return base::fail(base::Code::kIo, "plan.random", "no random numbers from the system");
  }
  Seed seed;
  const Wiped<Seed> wiped(seed);
  randombytes_buf(seed.data(), seed.size());
  return from_seed(seed);
}

SigningKey SigningKey::from_seed(const Seed& seed) {
  SigningKey key;
  PublicKey public_key;
  crypto_sign_seed_keypair(public_key.data(), key.secret_.data(), seed.data());
  return key;
}

base::Result<SigningKey> SigningKey::load(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(std::vector<std::byte> bytes, base::read_file(path, kMostKeyFileBytes));
  const Wiped<std::vector<std::byte>> wiped_bytes(bytes);
  std::array<std::byte, 64> raw{};
  const Wiped<std::array<std::byte, 64>> wiped_raw(raw);
  std::string_view text = base::as_text(bytes);
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  const std::span<std::byte> pair(raw);
  const bool is_hex = from_hex(text, pair) || from_hex(text, pair.first(sizeof(Seed)));
  const bool is_pair = is_hex ? text.size() == 128 : bytes.size() == 64;
  if (!is_hex && bytes.size() != 32 && bytes.size() != 64) {
    return base::fail(base::Code::kInvalidArgument, "plan.signing_key",
                      "%s is no signing key: 32 or 64 bytes, raw or in hex, are needed",
                      path.c_str());
  }
  if (!is_hex) std::memcpy(raw.data(), bytes.data(), bytes.size());
  Seed seed;
  const Wiped<Seed> wiped_seed(seed);
  std::memcpy(seed.data(), raw.data(), seed.size());
  SigningKey key = from_seed(seed);
  if (is_pair && std::memcmp(key.secret_.data(), raw.data(), raw.size()) != 0) {
    return base::fail(base::Code::kInvalidArgument, "plan.signing_key",
                      "the two halves of the signing key in %s do not belong together",
                      path.c_str());
  }
  return key;
}

SigningKey::SigningKey(SigningKey&& other) noexcept {
  std::swap(secret_, other.secret_);
}

SigningKey& SigningKey::operator=(SigningKey&& other) noexcept {
  std::swap(secret_, other.secret_);
  return *this;
}

SigningKey::~SigningKey() {
  sodium_memzero(secret_.data(), secret_.size());
}

PublicKey SigningKey::public_key() const {
  PublicKey key;
  std::copy(secret_.begin() + sizeof(Seed), secret_.end(), key.begin());
  return key;
}

Signature SigningKey::sign(const Digest& message) const {
  Signature signature;
  crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(), secret_.data());
  return signature;
}

base::Status SigningKey::save(const std::string& path) const {
  std::string secret = to_hex(std::as_bytes(std::span(secret_).first(sizeof(Seed)))) + "\n";
  const Wiped<std::string> wiped(secret);
  CAMSHAFT_TRY(base::write_file_atomically(path, base::as_bytes(secret), 0600));
  const PublicKey key = public_key();
  return base::write_file_atomically(path + ".pub",
                                     base::as_bytes(to_hex(std::as_bytes(std::span(key))) + "\n"));
}

base::Result<std::vector<std::byte>> sign_plan(base::Bytes plan, const SigningKey& key) {
  CAMSHAFT_TRY(PlanFile::from_bytes(plan));
  Header header = decode_header(plan.data());
  const bool was_signed = (header.flags & kHeaderSigned) != 0;
  const size_t signed_bytes = plan.size() - (was_signed ? kTrailerBytes : 0);
  std::vector<std::byte> result(plan.begin(), plan.begin() + static_cast<ptrdiff_t>(signed_bytes));
  result.resize(signed_bytes + kTrailerBytes);
  header.flags |= kHeaderSigned;
  header.file_bytes = result.size();
  encode_header(header, result.data());
  Trailer trailer;
  trailer.signer = key.public_key();
  trailer.signature = key.sign(digest(base::slice(result, 0, signed_bytes)));
  encode_trailer(trailer, result.data() + signed_bytes);
  return result;
}

}  // namespace camshaft::plan
