#pragma once
// What the fuzz programs share: the input as text, cut where its first byte says.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace agenttier::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Takes the first byte off and cuts the rest there.
inline std::pair<std::string_view, std::string_view> cut(std::string_view input) {
  if (input.empty()) return {};
  const std::size_t rest = input.size() - 1;
  const std::size_t at = static_cast<unsigned char>(input[0]) * rest / 255;
  return {input.substr(1, at), input.substr(1 + at)};
}

// A property that does not hold is a finding like a crash.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace agenttier::fuzz
