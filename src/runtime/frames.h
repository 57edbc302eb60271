#pragma once
// The frames that a process's output travels in (docs/runtime-protocol.md), and the stream of them
// that follows a process until its end.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/runtime_protocol.h"
#include "async/task.h"
#include "base/result.h"
#include "http/message.h"
#include "runtime/followed_log.h"

namespace agenttier::runtime {

class Process;

inline constexpr std::string_view kFramesContentType = "application/vnd.agenttier.frames";

enum class FrameChannel : std::uint8_t { kStdout = 1, kStderr = 2, kStatus = 3, kKeepAlive = 4 };

// Appends one frame; the payload is at most kFramePayloadMax.
void append_frame(std::string& out, FrameChannel channel, std::uint64_t offset,
                  std::string_view payload);

// Gives the output of a process from an offset on as frames. Destroying it unfollows the process.
class FrameReader final : public http::BodyReader {
 public:
  enum class Until : std::uint8_t { kEnd, kCaughtUp };
  struct Options {
    std::uint64_t since = 0;
    Until until = Until::kEnd;
    FollowedLog::Patience patience = FollowedLog::Patience::kLimited;
    // Called once, when the reader goes away.
    std::function<void()> on_close;
  };
  FrameReader(std::shared_ptr<Process> process, Options options);
  ~FrameReader() override;

  async::Task<base::Result<std::string>> read() override;
  // What can be given without waiting; empty if nothing.
  std::string take_ready();
  bool done() const { return done_; }

 private:
  void append_status(std::string& out);

  std::shared_ptr<Process> process_;
  Options options_;
  FollowedLog::Follower follower_;
  bool truncated_ = false;
  bool done_ = false;
};

}  // namespace agenttier::runtime
