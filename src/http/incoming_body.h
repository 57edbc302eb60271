#pragma once
// The body of a message that arrives on a link: how much of it is left, and its next piece.
//
// The server and the client share it between the connection and the BodyReader they hand out; the
// connection calls abandon() when the exchange is over, after which reads fail.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/task.h"
#include "base/result.h"
#include "http/chunk_decoder.h"
#include "http/link.h"
#include "http/parser.h"

namespace agenttier::http {

class IncomingBody {
 public:
  // `idle_time_max` limits the wait for each piece; zero: no limit.
  IncomingBody(std::shared_ptr<Link> link, const MessageHead& head,
               std::chrono::milliseconds idle_time_max);

  // The next piece, at most kPieceBytes; empty at the end.
  async::Task<base::Result<std::string>> read();
  // The whole body, if all of it has come and it is at most kPieceBytes.
  std::optional<std::string> take_if_complete();
  bool done() const { return done_; }
  // Abandons the body, reads the rest and forgets it; the end must come within both limits, else an
  // error.
  async::Task<base::Status> drain(std::uint64_t bytes_max, std::chrono::milliseconds time_max);
  // How many bytes are left at least.
  std::uint64_t left_min() const { return framing_ == Framing::kLength ? left_ : 0; }
  void abandon() { abandoned_ = true; }
  // The peer waits for "100 Continue" before it sends the body: given when the body is waited for.
  void owe_continue() { continue_owed_ = true; }
  // The answer goes out: no "100 Continue" after it.
  void deny_continue() { continue_denied_ = std::exchange(continue_owed_, false); }
  bool continue_denied() const { return continue_denied_; }

 private:
  async::Task<base::Result<std::string>> read_piece();
  async::Task<base::Result<std::string>> read_length();
  async::Task<base::Result<std::string>> read_chunks();
  async::Task<base::Result<std::string>> read_to_end();
  async::Task<base::Status> wait_more();
  void finish();

  std::shared_ptr<Link> link_;
  ChunkDecoder chunks_;
  Framing framing_;
  std::uint64_t left_;
  std::chrono::milliseconds idle_time_max_;
  bool done_ = false;
  bool abandoned_ = false;
  bool continue_owed_ = false;
  bool continue_denied_ = false;
  std::optional<base::Error> broken_;
};

}  // namespace agenttier::http
