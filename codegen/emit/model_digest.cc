// SPDX-License-Identifier: MIT
#include "codegen/emit/model_digest.h"

#include <sodium.h>

#include <cstdint>

#include "runtime/base/file.h"

namespace camshaft::emit {

base::Result<std::string> model_digest(const std::vector<std::string>& files) {
  crypto_generichash_state state;
  unsigned char digest[crypto_generichash_BYTES];
  CAMSHAFT_CHECK(crypto_generichash_init(&state, nullptr, 0, sizeof digest) == 0);
  for (const std::string& path : files) {
    CAMSHAFT_TRY_ASSIGN(const base::MappedFile file, base::MappedFile::open(path));
    const uint64_t size = file.bytes().size();
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&size), sizeof size);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(file.bytes().data()),
                              size);
  }
  crypto_generichash_final(&state, digest, sizeof digest);
  char hex[2 * sizeof digest + 1];
  sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
  return std::string(hex);
}

}  // namespace camshaft::emit
