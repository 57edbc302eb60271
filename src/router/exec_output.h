#pragma once
// ExecOutput gathers the frames of one exec into its standard output and errors.
//
// The bytes of one call are limited, and so are those of all calls at once: a sandbox can print
// without end, and this server's memory is shared. What does not fit is dropped and said
// (`truncated`); the process goes on. Gaps in the runtime's log count as dropped as well.
// As JSON the result is {stdout, stderr, exitCode, durationMs, truncated, timedOut, signal?,
// reason} with invalid UTF-8 replaced; a large one is written piece by piece.
//
// Example:
//   ExecOutput output(budget, {.bytes_max = kExecBytesMax});
//   AT_CO_OK(output.add(frame));
//   response.body = std::move(output).into_json();

#include <cstddef>
#include <cstdint>
#include <string>

#include "api/runtime_protocol.h"
#include "base/result.h"
#include "http/message.h"
#include "router/frames.h"

namespace agenttier::router {

constexpr std::size_t kExecBytesMax = 64 * 1024 * 1024;
constexpr std::size_t kExecBytesOfAllCallsMax = 256 * 1024 * 1024;

// Bytes that all calls together may hold. Must outlive its users.
struct ByteBudget {
  std::size_t bytes_max = kExecBytesOfAllCallsMax;
  std::size_t bytes_used = 0;
};

class ExecOutput {
 public:
  ExecOutput(ByteBudget& budget, std::size_t bytes_max);
  ExecOutput(ExecOutput&& other) noexcept;
  ExecOutput& operator=(ExecOutput&&) = delete;
  ~ExecOutput();

  base::Status add(const Frame& frame);
  bool ended() const { return ended_; }
  const api::ProcessStatus& status() const { return status_; }
  const std::string& standard_output() const { return out_; }
  const std::string& standard_error() const { return err_; }
  bool truncated() const { return truncated_ || status_.truncated; }
  // -1 when the time limit ended it, as the exec reply has always said.
  std::int64_t exit_code() const;
  bool timed_out() const { return status_.reason == "timeout"; }

  http::Body into_json() &&;

 private:
  void keep(std::string& stream, const Frame& frame);

  ByteBudget* budget_;
  std::size_t bytes_max_;
  std::size_t bytes_held_ = 0;
  std::uint64_t offset_ = 0;  // expected of the next frame
  std::string out_;
  std::string err_;
  api::ProcessStatus status_;
  bool truncated_ = false;
  bool ended_ = false;
};

// Appends `text` to `out` as the inside of a JSON string, with invalid UTF-8 replaced.
void append_json_text(std::string& out, std::string_view text);

}  // namespace agenttier::router
