#include "base/time_format.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace agenttier::base {
namespace {

using std::chrono::nanoseconds;

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};

constexpr std::int64_t kMicro = 1'000;
constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;

// Whole years that nanoseconds since 1970 reach in 64 bits.
constexpr int kYearMin = 1678;
constexpr int kYearMax = 2261;

constexpr std::array kUnits = {
    Unit{"ns", 1},      Unit{"us", kMicro}, Unit{"\u00b5s", kMicro}, Unit{"\u03bcs", kMicro},
    Unit{"ms", kMilli}, Unit{"s", kSecond}, Unit{"m", kMinute},      Unit{"h", kHour},
};

std::string format_with_fraction(WallTime time, int digits) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(time - day);
  const std::chrono::hh_mm_ss clock(since);
  std::string text =
      fmt::format("{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}", int(date.year()),
                  unsigned(date.month()), unsigned(date.day()), clock.hours().count(),
                  clock.minutes().count(), clock.seconds().count());
  if (digits == 6) text += fmt::format(".{:06d}", clock.subseconds().count());
  return text + "Z";
}

Error bad_time(std::string_view text) {
  return invalid(
      fmt::format("'{}' is not an RFC 3339 time, for example 2026-07-22T16:29:45Z", text));
}

// Reads exactly `count` digits at `pos`, or returns -1.
int digits_at(std::string_view text, std::size_t pos, std::size_t count) {
  if (pos + count > text.size()) return -1;
  int value = 0;
  for (std::size_t i = pos; i < pos + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

Error bad_duration(std::string_view text, std::string_view why) {
  return invalid(
      fmt::format("'{}' is not a duration: {}; write for example 30s, 15m or 1h30m", text, why));
}

}  // namespace

std::string format_rfc3339(WallTime time) {
  return format_with_fraction(time, 0);
}
std::string format_rfc3339_micros(WallTime time) {
  return format_with_fraction(time, 6);
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  const int year = digits_at(text, 0, 4), month = digits_at(text, 5, 2),
            day = digits_at(text, 8, 2);
  const int hour = digits_at(text, 11, 2), minute = digits_at(text, 14, 2),
            second = digits_at(text, 17, 2);
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != 't') || text[13] != ':' || text[16] != ':' || year < 0 ||
      month < 1 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60) {
    return bad_time(text);
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(unsigned(month)),
                                         std::chrono::day(unsigned(day))};
  if (!date.ok() || year < kYearMin || year > kYearMax) return bad_time(text);
  std::size_t pos = 19;
  std::int64_t nanos = 0;
  if (text[pos] == '.') {
    std::int64_t scale = kSecond / 10;
    const std::size_t first = ++pos;
    for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos, scale /= 10) {
      nanos += (text[pos] - '0') * scale;
    }
    if (pos == first || pos == text.size()) return bad_time(text);
  }
  std::chrono::minutes offset{0};
  if (text[pos] == 'Z' || text[pos] == 'z') {
    if (pos + 1 != text.size()) return bad_time(text);
  } else {
    const int hours = digits_at(text, pos + 1, 2), minutes = digits_at(text, pos + 4, 2);
    if ((text[pos] != '+' && text[pos] != '-') || pos + 6 != text.size() || text[pos + 3] != ':' ||
        hours < 0 || hours > 23 || minutes < 0 || minutes > 59) {
      return bad_time(text);
    }
    offset = std::chrono::minutes(hours * 60 + minutes);
    if (text[pos] == '-') offset = -offset;
  }
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + std::chrono::seconds(second) +
         std::chrono::duration_cast<WallTime::duration>(nanoseconds(nanos)) - offset;
}

std::string format_duration(nanoseconds duration) {
  if (duration.count() == 0) return "0s";
  std::string text;
  std::uint64_t left;
  if (duration.count() < 0) {
    text = "-";
    left = ~static_cast<std::uint64_t>(duration.count()) + 1;
  } else {
    left = static_cast<std::uint64_t>(duration.count());
  }
  const auto fraction = [](std::uint64_t value, std::uint64_t unit) {
    std::string out = fmt::format("{}", value / unit);
    if (value % unit == 0) return out;
    std::string tail = fmt::format("{:0{}d}", value % unit,
                                   unit == std::uint64_t(kSecond)  ? 9
                                   : unit == std::uint64_t(kMilli) ? 6
                                                                   : 3);
    tail.erase(tail.find_last_not_of('0') + 1);
    return out + "." + tail;
  };
  if (left < std::uint64_t(kMicro)) return text + fmt::format("{}ns", left);
  if (left < std::uint64_t(kMilli)) return text + fraction(left, kMicro) + "\u00b5s";
  if (left < std::uint64_t(kSecond)) return text + fraction(left, kMilli) + "ms";
  const std::uint64_t hours = left / kHour, minutes = left % kHour / kMinute;
  if (hours > 0) text += fmt::format("{}h", hours);
  if (hours > 0 || minutes > 0) text += fmt::format("{}m", minutes);
  return text + fraction(left % kMinute, kSecond) + "s";
}

Result<nanoseconds> parse_duration(std::string_view text) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return nanoseconds(0);
  if (rest.empty()) return bad_duration(text, "it is empty");
  long double total = 0;
  while (!rest.empty()) {
    long double number = 0, scale = 1;
    bool any = false, after_point = false;
    while (!rest.empty() &&
           ((rest[0] >= '0' && rest[0] <= '9') || (rest[0] == '.' && !after_point))) {
      if (rest[0] == '.') {
        after_point = true;
      } else {
        any = true;
        number = number * 10 + (rest[0] - '0');
        if (after_point) scale *= 10;
      }
      rest.remove_prefix(1);
    }
    if (!any) return bad_duration(text, "a number is missing");
    const std::size_t unit_size = std::min(rest.find_first_of("0123456789."), rest.size());
    const std::string_view unit = rest.substr(0, unit_size);
    if (unit.empty()) return bad_duration(text, "a number has no unit");
    const Unit* found = nullptr;
    for (const Unit& candidate : kUnits) {
      if (candidate.name == unit) found = &candidate;
    }
    if (found == nullptr) return bad_duration(text, fmt::format("'{}' is no unit", unit));
    total += number / scale * static_cast<long double>(found->nanos);
    if (total > static_cast<long double>(std::numeric_limits<std::int64_t>::max() - 1)) {
      return bad_duration(text, "it is longer than 292 years");
    }
    rest.remove_prefix(unit_size);
  }
  const auto nanos = static_cast<std::int64_t>(std::llroundl(total));
  return nanoseconds(negative ? -nanos : nanos);
}

}  // namespace agenttier::base
