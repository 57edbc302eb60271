#pragma once
// SHA-256, for what is stored or compared in place of a secret.

#include <string>
#include <string_view>

namespace agenttier::identity {

std::string sha256_hex(std::string_view bytes);  // 64 lower-case hex digits

}  // namespace agenttier::identity
