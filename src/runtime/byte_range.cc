#include "runtime/byte_range.h"

#include <algorithm>
#include <charconv>

namespace agenttier::runtime {
namespace {

using Kind = RangeAnswer::Kind;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, failure] = std::from_chars(text.data(), last, number);
  if (failure != std::errc() || end != last) return std::nullopt;
  return number;
}

RangeAnswer last_bytes(std::uint64_t count, std::uint64_t size) {
  if (count == 0 || size == 0) return {Kind::kUnsatisfied, {}};
  count = std::min(count, size);
  return {Kind::kPart, {size - count, count}};
}

}  // namespace

RangeAnswer answer_range(std::string_view header, std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit)) return {};
  header.remove_prefix(kUnit.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos) return {};
  const std::string_view first = header.substr(0, dash);
  const std::string_view second = header.substr(dash + 1);
  const auto begin = parse_number(first);
  const auto end = parse_number(second);
  if (first.empty() && end) return last_bytes(*end, size);
  if (!begin || (!second.empty() && !end) || (end && *end < *begin)) return {};
  if (*begin >= size) return {Kind::kUnsatisfied, {}};
  const std::uint64_t last = end ? std::min(*end, size - 1) : size - 1;
  return {Kind::kPart, {*begin, last - *begin + 1}};
}

}  // namespace agenttier::runtime
