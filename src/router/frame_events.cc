#include "router/frame_events.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "http/sse.h"
#include "router/exec_output.h"

namespace agenttier::router {
namespace {

std::size_t sequence_length(unsigned char lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 1;
}

// Line ends between the members of an object become spaces; inside its strings there are none.
std::string one_line(std::string json_text) {
  std::ranges::replace(json_text, '\n', ' ');
  std::ranges::replace(json_text, '\r', ' ');
  return http::sse_safe_json(json_text);
}

}  // namespace

std::size_t incomplete_tail(std::string_view text) {
  const std::size_t most = std::min<std::size_t>(3, text.size());
  for (std::size_t back = 1; back <= most; ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    return sequence_length(byte) > back ? back : 0;
  }
  return 0;
}

std::string FrameEvents::events_of(const Frame& frame) {
  switch (frame.channel) {
    case Frame::Channel::kKeepAlive:
      return std::string(http::kSseKeepAlive);
    case Frame::Channel::kStatus:
      return exit_events(frame);
    default:
      return output_event(frame);
  }
}

std::string FrameEvents::output_event(const Frame& frame) {
  std::string out;
  if (frame.offset > offset_) {
    out_.rest.clear();
    err_.rest.clear();
    out += http::format_sse({.event = "skipped",
                             .data = "{\"bytes\":" + std::to_string(frame.offset - offset_) + "}",
                             .id = {}});
  }
  Stream& stream = frame.channel == Frame::Channel::kStdout ? out_ : err_;
  const std::uint64_t start = stream.rest.empty() ? frame.offset : stream.rest_offset;
  std::string text = std::exchange(stream.rest, {});
  text += frame.payload;
  offset_ = frame.offset + frame.payload.size();
  const std::size_t tail = incomplete_tail(text);
  stream.rest = text.substr(text.size() - tail);
  stream.rest_offset = tail == text.size() ? start : offset_ - tail;
  text.resize(text.size() - tail);
  if (!text.empty()) append_output(out, stream, start, text);
  return out;
}

// Before the beginning of any character that is still held back.
std::uint64_t FrameEvents::resume_offset() const {
  std::uint64_t offset = offset_;
  for (const Stream* stream : {&out_, &err_}) {
    if (!stream->rest.empty()) offset = std::min(offset, stream->rest_offset);
  }
  return offset;
}

void FrameEvents::append_output(std::string& out, Stream& stream, std::uint64_t offset,
                                std::string_view text) {
  std::string data = "{\"stream\":\"" + std::string(stream.name) +
                     "\",\"offset\":" + std::to_string(offset) + ",\"data\":\"";
  append_json_text(data, text);
  data += "\"}";
  out += http::format_sse({.event = "output",
                           .data = http::sse_safe_json(data),
                           .id = std::to_string(resume_offset())});
}

std::string FrameEvents::exit_events(const Frame& frame) {
  std::string out;
  for (Stream* stream : {&out_, &err_}) {
    const std::string rest = std::exchange(stream->rest, {});
    if (!rest.empty()) append_output(out, *stream, stream->rest_offset, rest);
  }
  out += http::format_sse(
      {.event = "exit", .data = one_line(base::to_valid_utf8(frame.payload)), .id = {}});
  ended_ = true;
  return out;
}

}  // namespace agenttier::router
