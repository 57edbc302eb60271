#pragma once
// Reads the parameters of a request's query; an error names the parameter.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace agenttier::runtime {

enum class Flag : std::uint8_t { kFalse, kTrue };

// "true" or "false"; absent is false.
base::Result<Flag> read_flag(const http::Target& target, std::string_view name);
// A decimal number; absent is `fallback`.
base::Result<std::uint64_t> read_number(const http::Target& target, std::string_view name,
                                        std::uint64_t fallback);
// kInvalid if it is absent or empty.
base::Result<std::string> read_text(const http::Target& target, std::string_view name);

}  // namespace agenttier::runtime
