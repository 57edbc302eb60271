#include "cli/frame_reader.h"

namespace agenttier::cli {
namespace {

constexpr std::size_t kHeadSize = 13;
constexpr std::uint32_t kPayloadMax = 65536;

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (char c : bytes) value = value << 8 | static_cast<std::uint8_t>(c);
  return value;
}

}  // namespace

async::Task<base::Status> FrameReader::fill(std::size_t size) {
  while (buffer_.size() - start_ < size) {
    auto piece = co_await body_->read();
    if (!piece) co_return std::move(piece).error();
    if (piece->empty()) co_return base::unavailable("the stream ended before the command did");
    buffer_.erase(0, start_);
    start_ = 0;
    buffer_ += *piece;
  }
  co_return base::Status();
}

async::Task<base::Result<Frame>> FrameReader::next() {
  AT_CO_OK(co_await fill(kHeadSize));
  const std::string_view head = std::string_view(buffer_).substr(start_, kHeadSize);
  Frame frame;
  frame.channel = static_cast<std::uint8_t>(head[0]);
  frame.offset = big_endian(head.substr(1, 8));
  const auto size = static_cast<std::uint32_t>(big_endian(head.substr(9, 4)));
  if (size > kPayloadMax) co_return base::internal("the stream is damaged: a frame is too large");
  AT_CO_OK(co_await fill(kHeadSize + size));
  frame.payload = buffer_.substr(start_ + kHeadSize, size);
  start_ += kHeadSize + size;
  co_return frame;
}

}  // namespace agenttier::cli
