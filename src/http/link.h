#pragma once
// A Link is one end of an HTTP/1.1 connection: input that is read ahead into a bounded buffer, so
// that the end of the peer is noticed at any time, and output with a time limit.
//
// One task reads and one task writes at a time. All deadlines of a link share one timer, which is
// armed again only when it would fire too late. Hold it by shared_ptr during every call.

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "async/event.h"
#include "async/task.h"
#include "base/result.h"
#include "http/transport.h"

namespace agenttier::http {

inline constexpr std::size_t kPieceBytes = 64 * 1024;    // of a streamed body
inline constexpr std::size_t kHeadReadBytes = 8 * 1024;  // read ahead between bodies

class Link : public std::enable_shared_from_this<Link> {
 public:
  // Without progress for write_time_max, a write fails and the link is closed.
  Link(async::Executor executor, std::unique_ptr<Transport> transport,
       std::chrono::milliseconds write_time_max);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Begins to read ahead.
  void start();
  // Called once, from the loop, when the peer ended its side or the connection broke.
  void on_end(std::function<void()> callback) { on_end_ = std::move(callback); }
  // Called once, from the loop, when bytes have come.
  void on_data(std::function<void()> callback) { on_data_ = std::move(callback); }

  // What has come and is not consumed; valid until the next call.
  std::string_view data() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(std::size_t size);
  // Consumes up to bytes_max as a string; gives the buffer itself away where that saves a copy.
  std::string take(std::size_t bytes_max);
  // Waits for bytes beyond data(): kUnavailable at the end, kDeadline at the read deadline,
  // kCancelled when the task is cancelled or after interrupt().
  async::Task<base::Status> wait_more();
  // How much to read at once: kHeadReadBytes, or kPieceBytes while a body comes.
  void set_read_bytes(std::size_t bytes) { read_bytes_ = bytes; }
  void set_read_deadline(std::chrono::milliseconds from_now);
  void clear_read_deadline() { read_deadline_ = kNever; }

  async::Task<base::Status> write(Buffers buffers);

  bool ended() const { return ended_; }                  // the peer's side, or both
  bool ended_cleanly() const { return ended_cleanly_; }  // by the peer, not by a fault
  bool closed() const { return closed_; }                // ours
  bool waiting() const { return waiting_; }
  // Whether nothing has come, not even the end, as far as the system knows right now.
  bool is_quiet() { return !ended_ && begin_ == end_ && transport_->is_quiet(); }
  // Whether the peer has sent anything since the link began.
  std::uint64_t bytes_come() const { return bytes_come_; }
  void interrupt();
  void shutdown_send();
  void close();
  void abort();  // the peer sees an error, not an end
  // Stops reading ahead and gives the transport away; data() stays readable.
  async::Task<std::unique_ptr<Transport>> release();

 private:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr Time kNever = Time::max();

  void read_ahead();
  void start_read();
  void finish_read(const boost::system::error_code& error, std::size_t size);
  void end(std::string why);
  void arm(Time deadline);
  void check_deadlines();

  std::unique_ptr<Transport> transport_;
  std::chrono::milliseconds write_time_max_;
  std::function<void()> on_end_;
  std::function<void()> on_data_;

  std::shared_ptr<Link> self_while_reading_;
  std::string buffer_;  // [begin_, end_) is data; a read under way fills from end_
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t read_bytes_ = kHeadReadBytes;
  std::uint64_t bytes_come_ = 0;
  bool reading_ = false;
  bool stopping_ = false;  // release() waits for the read to end
  bool waiting_ = false;
  bool ended_ = false;
  bool ended_cleanly_ = false;
  bool closed_ = false;
  bool interrupted_ = false;
  std::string end_reason_;
  async::Event changed_;

  boost::asio::steady_timer timer_;
  Time armed_for_ = kNever;
  Time read_deadline_ = kNever;
  Time write_deadline_ = kNever;
  bool read_expired_ = false;
};

}  // namespace agenttier::http
