// SPDX-License-Identifier: MIT
// Signing plan files. Kept apart from signature.h, so that what only checks holds no code to sign.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/signature.h"

namespace camshaft::plan {

// An Ed25519 key pair. Its memory is wiped when it goes. Movable.
class SigningKey {
 public:
  using Seed = std::array<uint8_t, 32>;

  // From the system's random numbers.
  static base::Result<SigningKey> generate();
  static SigningKey from_seed(const Seed& seed);
  // A key file: the seed as 32 raw bytes or 64 hex digits, or the pair as libsodium keeps it (64
  // raw bytes or 128 hex digits). Fails with kNotFound, kIo or kInvalidArgument.
  static base::Result<SigningKey> load(const std::string& path);

  SigningKey(SigningKey&& other) noexcept;
  SigningKey& operator=(SigningKey&& other) noexcept;
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;
  ~SigningKey();

  PublicKey public_key() const;
  // Of a digest; the same every time.
  Signature sign(const Digest& message) const;
  // Writes the seed in hex to `path`, readable by the owner only, and the public key in hex to
  // `path`.pub.
  base::Status save(const std::string& path) const;

 private:
  SigningKey() = default;

  std::array<uint8_t, 64> secret_{};  // seed, then public key
};

// Signs a plan file that write_plan() made, or signs a signed one anew. Fails with what
// PlanFile::from_bytes() says about `plan`.
base::Result<std::vector<std::byte>> sign_plan(base::Bytes plan, const SigningKey& key);

}  // namespace camshaft::plan
