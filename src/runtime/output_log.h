#pragma once
// An OutputLog keeps the newest bytes that a process wrote, on two channels, addressed by offset.
//
// Offsets count the bytes of both channels together, in the order of append(), from 0. The log
// holds at most `bytes_max` bytes (and kOutputSegmentsMax changes of channel); older ones are
// dropped, and a read below begin() starts at begin(). Memory grows with what is kept, in blocks.
//
// Example:
//   log.append(Channel::kStdout, "hello");
//   auto piece = log.read(0, kFramePayloadMax);  // {kStdout, 0, "hello"}

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agenttier::runtime {

enum class Channel : std::uint8_t { kStdout = 1, kStderr = 2 };

class OutputLog {
 public:
  struct Piece {
    Channel channel;
    std::uint64_t offset;
    std::string bytes;
  };

  explicit OutputLog(std::size_t bytes_max);

  void append(Channel channel, std::string_view bytes);
  // The next bytes of one channel from `offset` on; nothing if there are none yet.
  std::optional<Piece> read(std::uint64_t offset, std::size_t bytes_max) const;
  // Forgets what lies before `offset`.
  void drop_before(std::uint64_t offset);

  std::uint64_t begin() const { return begin_; }  // offset of the oldest byte kept
  std::uint64_t end() const { return end_; }      // the number of bytes written so far
  std::size_t memory_bytes() const;

 private:
  static constexpr std::size_t kBlockBytes = 16UL << 10;
  using Block = std::array<char, kBlockBytes>;
  struct Segment {
    std::uint64_t begin;
    Channel channel;
  };

  void copy_in(std::string_view bytes);
  std::size_t segment_at(std::uint64_t offset) const;

  std::size_t bytes_max_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t blocks_begin_ = 0;  // offset of the first block's first byte
  std::deque<std::unique_ptr<Block>> blocks_;
  std::deque<Segment> segments_;  // never adjacent with one channel
};

}  // namespace agenttier::runtime
