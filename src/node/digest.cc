#include "node/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/assert.h"
#include "base/bytes.h"

namespace agenttier::node {

std::string sha256_hex(std::string_view bytes) {
  std::array<std::uint8_t, 32> digest{};
  unsigned length = 0;
  AT_ASSERT(::EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, ::EVP_sha256(),
                         nullptr) == 1);
  return base::to_hex(digest);
}

bool is_sha256_digest(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  if (text.size() != kPrefix.size() + 64 || !text.starts_with(kPrefix)) return false;
  return std::all_of(text.begin() + kPrefix.size(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace agenttier::node
