#pragma once
// Reads the frames of a process's output (docs/runtime-protocol.md) from a response body.

#include <cstdint>
#include <memory>
#include <string>

#include "async/task.h"
#include "base/result.h"
#include "http/message.h"

namespace agenttier::cli {

struct Frame {
  std::uint8_t channel = 0;
  std::uint64_t offset = 0;
  std::string payload;
};

class FrameReader {
 public:
  explicit FrameReader(std::unique_ptr<http::BodyReader> body) : body_(std::move(body)) {}
  // The next frame; kUnavailable if the stream ends between or inside frames.
  async::Task<base::Result<Frame>> next();

 private:
  async::Task<base::Status> fill(std::size_t size);

  std::unique_ptr<http::BodyReader> body_;
  std::string buffer_;
  std::size_t start_ = 0;
};

}  // namespace agenttier::cli
