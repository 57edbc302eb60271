#include "runtime/token.h"

#include <sha256.h>

#include <algorithm>

#include "base/bytes.h"

namespace agenttier::runtime {
namespace {

constexpr std::size_t kTokenBytesMax = 512;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string sha256(std::string_view text) {
  SHA2_CTX context;
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest;
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  SHA256Final(digest.data(), &context);
  return {digest.begin(), digest.end()};
}

bool equals_without_case(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

}  // namespace

base::Result<TokenHash> TokenHash::parse(std::string_view hex) {
  TokenHash hash;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const int high = hex_digit(hex[i]);
    const int low = hex_digit(hex[i + 1]);
    if (high < 0 || low < 0) break;
    hash.digest_ += static_cast<char>(high * 16 + low);
  }
  if (hex.size() != 2 * SHA256_DIGEST_LENGTH || hash.digest_.size() != SHA256_DIGEST_LENGTH) {
    return base::invalid("must be the SHA-256 of the token, 64 hex digits");
  }
  return hash;
}

bool TokenHash::allows(std::string_view authorization) const {
  constexpr std::string_view kScheme = "Bearer ";
  if (authorization.size() > kTokenBytesMax ||
      !equals_without_case(authorization.substr(0, kScheme.size()), kScheme)) {
    return false;
  }
  return base::equal_constant_time(sha256(authorization.substr(kScheme.size())), digest_);
}

}  // namespace agenttier::runtime
