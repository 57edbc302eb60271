#pragma once
// The runtime knows the SHA-256 of its token only: who reads its environment or memory at rest
// learns nothing that opens it. Comparing takes the same time whatever differs.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agenttier::runtime {

class TokenHash {
 public:
  // 64 hex digits.
  static base::Result<TokenHash> parse(std::string_view hex);

  // Whether an Authorization header carries the token ("Bearer ..."); it may be absent (empty).
  bool allows(std::string_view authorization) const;

 private:
  std::string digest_;
};

}  // namespace agenttier::runtime
