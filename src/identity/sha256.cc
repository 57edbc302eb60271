#include "identity/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>

#include "base/assert.h"
#include "base/bytes.h"

namespace agenttier::identity {

std::string sha256_hex(std::string_view bytes) {
  std::array<std::uint8_t, 32> digest{};
  unsigned int size = 0;
  const int good =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  AT_ASSERT(good == 1 && size == digest.size());
  return base::to_hex(digest);
}

}  // namespace agenttier::identity
