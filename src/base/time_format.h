#pragma once
// Timestamps and durations as text.
//
// Timestamps are RFC 3339 in UTC ("2026-07-22T16:29:45Z"). Durations use the syntax of Go, which
// the wire is built on: a sequence of decimal numbers with units, "1h30m", "250ms", "1.5h".

#include <chrono>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace agenttier::base {

std::string format_rfc3339(WallTime time);         // whole seconds
std::string format_rfc3339_micros(WallTime time);  // six fractional digits, for Lease and Event
Result<WallTime> parse_rfc3339(std::string_view text);

// "90s" gives 1m30s, as Go prints it.
std::string format_duration(std::chrono::nanoseconds duration);
// Accepts a sign and zero; whether those are allowed is the caller's rule. kInvalid says what is
// wrong and shows a valid example. Fails on overflow.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

}  // namespace agenttier::base
