#pragma once
// Kubernetes quantities as whole numbers: "1Gi" is 1073741824 bytes, "250m" is 250 thousandths.
//
// The grammar is that of the Kubernetes API: a decimal number, then nothing, a decimal suffix
// (n u m k M G T P E), a binary suffix (Ki Mi Gi Ti Pi Ei) or an exponent (e3, E-2). Values are
// exact; what does not come out whole is rounded up, as Kubernetes does. What does not fit is
// kInvalid.
//
// Example:
//   AT_TRY(std::int64_t size, parse_bytes(claim.spec.resources->requests.at("storage")));

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agenttier::api {

// Whole units: bytes of memory or storage, a count of pids.
base::Result<std::int64_t> parse_bytes(std::string_view text);
// Thousandths of a unit, as cpu is counted.
base::Result<std::int64_t> parse_millis(std::string_view text);

// The shortest exact text: 1073741824 is "1Gi", 1500 is "1500".
std::string format_bytes(std::int64_t bytes);
// 2000 is "2", 250 is "250m".
std::string format_millis(std::int64_t millis);

// A well-formed quantity that is not negative and fits.
base::Status check_quantity(std::string_view text);

}  // namespace agenttier::api
