#pragma once
// SHA-256 as content-addressed storage spells it.

#include <string>
#include <string_view>

namespace agenttier::node {

std::string sha256_hex(std::string_view bytes);  // 64 lower-case hex digits
// "sha256:" and 64 lower-case hex digits.
bool is_sha256_digest(std::string_view text);

}  // namespace agenttier::node
