#pragma once
// The Range header of HTTP, for one range of bytes.

#include <cstdint>
#include <optional>
#include <string_view>

namespace agenttier::runtime {

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
  bool operator==(const ByteRange&) const = default;
};

struct RangeAnswer {
  enum class Kind : std::uint8_t {
    kWhole,        // no range, several, or one that is not understood: the whole file
    kPart,         // 206
    kUnsatisfied,  // 416: it begins beyond the end
  } kind = Kind::kWhole;
  ByteRange range;
};

// What to send of `size` bytes for "bytes=0-99", "bytes=100-" or "bytes=-50".
RangeAnswer answer_range(std::string_view header, std::uint64_t size);

}  // namespace agenttier::runtime
