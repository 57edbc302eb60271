#pragma once
// SHA-256, for what is stored or compared in place of a secret. It suits secrets of 32 random
// bytes, which nobody can guess; for anything that a person thought up it is far too fast.
//
// Example: const std::string name = names::api_key_secret_of(sha256_hex(key));

#include <string>
#include <string_view>

namespace agenttier::identity {

std::string sha256_hex(std::string_view bytes);  // 64 lower-case hex digits

}  // namespace agenttier::identity
