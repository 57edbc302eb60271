#pragma once
// Frames are the pieces in which a sandbox's runtime sends the output of a process
// (docs/runtime-protocol.md): a channel, an offset in the output log, and at most 64 KiB of bytes.
//
// FrameDecoder cuts a byte stream, fed in pieces of any size, into frames. It copies a piece only
// when a frame lies across its edge, and holds at most one frame. The stream comes from a sandbox
// and is hostile: an unknown channel or a length over the limit is kUnavailable.
//
// Example:
//   FrameDecoder decoder;
//   decoder.feed(piece);
//   AT_CO_TRY(std::optional<Frame> frame, decoder.next());

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/runtime_protocol.h"
#include "base/result.h"

namespace agenttier::router {

constexpr std::size_t kFrameHeaderBytes = 13;
constexpr std::size_t kFramePayloadBytesMax = 65536;
constexpr std::string_view kFramesContentType = "application/vnd.agenttier.frames";

struct Frame {
  enum class Channel : std::uint8_t { kStdout = 1, kStderr = 2, kStatus = 3, kKeepAlive = 4 };
  Channel channel;
  std::uint64_t offset;      // of the payload's first byte in the output log
  std::string_view payload;  // valid until the next feed()
};

class FrameDecoder {
 public:
  void feed(std::string piece);
  // Nothing when the bytes at hand hold no whole frame.
  base::Result<std::optional<Frame>> next();
  // True when no partial frame is left over.
  bool at_boundary() const { return position_ == buffer_.size(); }

 private:
  std::string buffer_;
  std::size_t position_ = 0;
};

std::string encode_frame(Frame::Channel channel, std::uint64_t offset, std::string_view payload);

// The payload of a status frame.
base::Result<api::ProcessStatus> parse_process_status(std::string_view json_text);

}  // namespace agenttier::router
