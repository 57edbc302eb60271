#include "router/frames.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <utility>

namespace agenttier::router {
namespace {

namespace json = boost::json;

std::uint64_t read_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

void append_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

base::Error broken(std::string_view what) {
  return base::unavailable("the sandbox's runtime sent a broken output stream: " +
                           std::string(what));
}

}  // namespace

void FrameDecoder::feed(std::string piece) {
  if (at_boundary()) {
    buffer_ = std::move(piece);
  } else {
    buffer_.erase(0, position_);
    buffer_ += piece;
  }
  position_ = 0;
}

base::Result<std::optional<Frame>> FrameDecoder::next() {
  const std::string_view rest = std::string_view(buffer_).substr(position_);
  if (rest.size() < kFrameHeaderBytes) return std::optional<Frame>();
  const auto channel = static_cast<std::uint8_t>(rest[0]);
  if (channel < 1 || channel > 4) return broken("unknown channel " + std::to_string(channel));
  const std::uint64_t length = read_big_endian(rest.substr(9, 4));
  if (length > kFramePayloadBytesMax) {
    return broken("a frame of " + std::to_string(length) + " bytes");
  }
  if (rest.size() < kFrameHeaderBytes + length) return std::optional<Frame>();
  position_ += kFrameHeaderBytes + length;
  return std::optional<Frame>(Frame{.channel = static_cast<Frame::Channel>(channel),
                                    .offset = read_big_endian(rest.substr(1, 8)),
                                    .payload = rest.substr(kFrameHeaderBytes, length)});
}

std::string encode_frame(Frame::Channel channel, std::uint64_t offset, std::string_view payload) {
  std::string out;
  out.reserve(kFrameHeaderBytes + payload.size());
  out.push_back(static_cast<char>(channel));
  append_big_endian(out, offset, 8);
  append_big_endian(out, payload.size(), 4);
  out += payload;
  return out;
}

base::Result<api::ProcessStatus> parse_process_status(std::string_view json_text) {
  boost::system::error_code error;
  const json::value value = json::parse(json_text, error);
  if (error) return broken("its status is not JSON");
  auto status = api::ProcessStatus::from_json(value, "status");
  if (!status) return broken(status.error().message);
  return status;
}

}  // namespace agenttier::router
