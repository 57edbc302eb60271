#pragma once
// FrameEvents turns the frames of a process's output into server-sent events, as they come:
//
//   id: 42                                             the offset to continue at (Last-Event-ID)
//   event: output
//   data: {"stream":"stdout","offset":30,"data":"..."}
//
//   event: skipped                                     output that the log no longer had
//   data: {"bytes":1048576}
//
//   event: exit                                        the last one
//   data: {"exitCode":0,"reason":"exited",...}
//
// Keep-alive frames become comments. Text is valid UTF-8: a character cut by the edge of a frame is
// sent with the next one, and what is no UTF-8 is replaced; the bytes themselves are had as frames.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "router/frames.h"

namespace agenttier::router {

class FrameEvents {
 public:
  // `offset` is the one that the output was asked from.
  explicit FrameEvents(std::uint64_t offset) : offset_(offset) {}

  // The events of a frame; empty if it only completes part of a character.
  std::string events_of(const Frame& frame);
  bool ended() const { return ended_; }

 private:
  struct Stream {
    const char* name;
    std::string rest;  // the beginning of a character
    std::uint64_t rest_offset = 0;
  };

  void append_output(std::string& out, Stream& stream, std::uint64_t offset, std::string_view text);
  std::uint64_t resume_offset() const;
  std::string output_event(const Frame& frame);
  std::string exit_events(const Frame& frame);

  std::uint64_t offset_;
  Stream out_{"stdout", {}, 0};
  Stream err_{"stderr", {}, 0};
  bool ended_ = false;
};

// How many of the last bytes are the beginning of a UTF-8 sequence that is not complete.
std::size_t incomplete_tail(std::string_view text);

}  // namespace agenttier::router
