#include "kube/resource_version.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

namespace agenttier::kube {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

VersionOrder compare_versions(std::string_view left, std::string_view right) {
  if (left == right) return VersionOrder::kSame;
  const auto a = number(left);
  const auto b = number(right);
  if (!a || !b) return VersionOrder::kUnknown;
  if (*a == *b) return VersionOrder::kSame;
  return *a < *b ? VersionOrder::kOlder : VersionOrder::kNewer;
}

}  // namespace agenttier::kube
