#pragma once
// Bytes as text: hex, base64, and UTF-8 that is always valid.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agenttier::base {

std::string to_hex(std::span<const std::uint8_t> bytes);
std::string to_base64(std::string_view bytes);           // standard alphabet, padded
std::string to_base64url(std::string_view bytes);        // URL alphabet, no padding
Result<std::string> from_base64(std::string_view text);  // either alphabet, padding optional

// Equal in time that depends on the lengths only.
bool equal_constant_time(std::string_view left, std::string_view right);

// Replaces each invalid sequence with U+FFFD.
std::string to_valid_utf8(std::string_view bytes);
bool is_valid_utf8(std::string_view bytes);

}  // namespace agenttier::base
