#include "api/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/bytes.h"

#include <fmt/format.h>

namespace agenttier::api {
namespace {

using base::Error;
using base::Result;
__extension__ using Wide = __int128;

constexpr std::size_t kTextMax = 64;
constexpr std::size_t kDigitsMax = 30;
constexpr int kExponentMax = 30;

// A number is mantissa * 10^power10 * 2^power2.
struct Parts {
  Wide mantissa = 0;
  int power10 = 0;
  int power2 = 0;
};

struct Suffix {
  std::string_view text;
  int power10;
  int power2;
};

constexpr std::array<Suffix, 16> kSuffixes{{{"", 0, 0},
                                            {"n", -9, 0},
                                            {"u", -6, 0},
                                            {"m", -3, 0},
                                            {"k", 3, 0},
                                            {"M", 6, 0},
                                            {"G", 9, 0},
                                            {"T", 12, 0},
                                            {"P", 15, 0},
                                            {"E", 18, 0},
                                            {"Ki", 0, 10},
                                            {"Mi", 0, 20},
                                            {"Gi", 0, 30},
                                            {"Ti", 0, 40},
                                            {"Pi", 0, 50},
                                            {"Ei", 0, 60}}};

Error bad(std::string_view text, std::string_view why) {
  return base::invalid(
      fmt::format("'{}' is not a quantity: {}; write for example 500m, 2, 512Mi or 10Gi",
                  base::to_valid_utf8(text.substr(0, kTextMax)), why));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes digits and at most one point from the front of `rest`.
Result<Parts> take_number(std::string_view text, std::string_view& rest) {
  Parts parts;
  std::size_t digits = 0;
  bool point = false;
  for (; !rest.empty() && (is_digit(rest[0]) || (rest[0] == '.' && !point));
       rest.remove_prefix(1)) {
    if (rest[0] == '.') {
      point = true;
      continue;
    }
    if (++digits > kDigitsMax) return bad(text, "it has too many digits");
    parts.mantissa = parts.mantissa * 10 + (rest[0] - '0');
    if (point) --parts.power10;
  }
  if (digits == 0) return bad(text, "a number is missing");
  return parts;
}

Result<int> parse_exponent(std::string_view text, std::string_view digits) {
  if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return bad(text, "its exponent is no number");
  }
  if (exponent > kExponentMax || exponent < -kExponentMax) return bad(text, "it is out of range");
  return exponent;
}

Result<Parts> parse_parts(std::string_view text) {
  if (text.empty()) return bad(text, "it is empty");
  if (text.size() > kTextMax) return bad(text, "it is too long");
  std::string_view rest = text;
  const bool negative = rest[0] == '-';
  if (negative || rest[0] == '+') rest.remove_prefix(1);
  AT_TRY(Parts parts, take_number(text, rest));
  if (negative) parts.mantissa = -parts.mantissa;
  if (rest.size() > 1 && (rest[0] == 'e' || rest[0] == 'E') && rest != "Ei") {
    AT_TRY(const int exponent, parse_exponent(text, rest.substr(1)));
    parts.power10 += exponent;
    return parts;
  }
  const auto found = std::ranges::find(kSuffixes, rest, &Suffix::text);
  if (found == kSuffixes.end()) return bad(text, fmt::format("'{}' is no suffix", rest));
  parts.power10 += found->power10;
  parts.power2 = found->power2;
  return parts;
}

// mantissa * 10^power10 * 2^power2, rounded away from zero.
Result<std::int64_t> scaled(std::string_view text, Parts parts) {
  constexpr Wide kWideMax = ~(static_cast<Wide>(1) << 127);
  const bool negative = parts.mantissa < 0;
  Wide value = negative ? -parts.mantissa : parts.mantissa;
  Wide divisor = 1;
  // Factors cancel first, so that only a result that does not fit overflows.
  for (; parts.power10 < 0; ++parts.power10) {
    if (value % 10 == 0) {
      value /= 10;
    } else if (divisor > kWideMax / 10) {
      value = value == 0 ? 0 : 1;  // far below one unit: rounds up to one
      divisor = 1;
      parts = {.mantissa = 0, .power10 = 0, .power2 = 0};
      break;
    } else {
      divisor *= 10;
    }
  }
  for (; parts.power2 > 0 && value != 0; --parts.power2) {
    if (divisor % 2 == 0) {
      divisor /= 2;
    } else if (value > kWideMax / 2) {
      return bad(text, "it is out of range");
    } else {
      value *= 2;
    }
  }
  for (; parts.power10 > 0 && value != 0; --parts.power10) {
    if (value > kWideMax / 10) return bad(text, "it is out of range");
    value *= 10;
  }
  const Wide whole = value / divisor + (value % divisor != 0 ? 1 : 0);
  if (whole > std::numeric_limits<std::int64_t>::max()) return bad(text, "it is out of range");
  return static_cast<std::int64_t>(negative ? -whole : whole);
}

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  AT_TRY(const Parts parts, parse_parts(text));
  return scaled(text, parts);
}

Result<std::int64_t> parse_millis(std::string_view text) {
  AT_TRY(Parts parts, parse_parts(text));
  parts.power10 += 3;
  return scaled(text, parts);
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 7> kBinary{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power + 1 < kBinary.size()) {
    bytes /= 1024;
    ++power;
  }
  return fmt::format("{}{}", bytes, kBinary[power]);
}

std::string format_millis(std::int64_t millis) {
  if (millis % 1000 == 0) return fmt::format("{}", millis / 1000);
  return fmt::format("{}m", millis);
}

base::Status check_quantity(std::string_view text) {
  AT_TRY(const Parts parts, parse_parts(text));
  if (parts.mantissa < 0) return bad(text, "it is negative");
  AT_TRY(const std::int64_t value, scaled(text, parts));
  static_cast<void>(value);
  return {};
}

}  // namespace agenttier::api
