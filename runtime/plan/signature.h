// SPDX-License-Identifier: MIT
// Checking the optional signature of a plan file. Making one: signing.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::plan {

// Ed25519.
using PublicKey = std::array<uint8_t, 32>;
using Signature = std::array<uint8_t, 64>;
// BLAKE2b-256.
using Digest = std::array<uint8_t, 32>;

inline constexpr uint32_t kSchemeEd25519Blake2b = 1;
// What is read of a file that is given as a key: enough to say that it is none.
inline constexpr uint64_t kMostKeyFileBytes = 64 << 20;

// The last kTrailerBytes of a signed file.
struct Trailer {
  uint32_t scheme = kSchemeEd25519Blake2b;
  PublicKey signer{};
  Signature signature{};
};
void encode_trailer(const Trailer& trailer, std::byte* to);
// Fails with kCorrupt if the trailer doesn't match its own checksum.
base::Result<Trailer> decode_trailer(const std::byte* from, const std::string& file);

Digest digest(base::Bytes bytes);

// Whether `signature` is the key's for these bytes (a file before its trailer).
bool is_signature_good(base::Bytes signed_bytes, const Signature& signature, const PublicKey& key);

// A key file: 32 raw bytes, or 64 hex digits with or without a final newline. Fails with kNotFound,
// kIo or kInvalidArgument.
base::Result<PublicKey> load_public_key(const std::string& path);

// Lower-case hex digits, and back; false if `text` isn't exactly twice as many.
std::string to_hex(base::Bytes bytes);
bool from_hex(std::string_view text, std::span<std::byte> bytes);

}  // namespace camshaft::plan
