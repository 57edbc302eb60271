#include "http/link.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace agenttier::http {
namespace {

// Reading ahead pauses while so much waits to be consumed.
constexpr std::size_t kReadAheadBytes = 16 * 1024;
// From this size on giving the buffer away is cheaper than a copy.
constexpr std::size_t kGiveAwayBytes = 16 * 1024;

using boost::asio::const_buffer;

std::size_t total(const Buffers& buffers) {
  std::size_t size = 0;
  for (const const_buffer& buffer : buffers) size += buffer.size();
  return size;
}

void advance(Buffers& buffers, std::size_t size) {
  for (const_buffer& buffer : buffers) {
    const std::size_t step = std::min(size, buffer.size());
    buffer += step;
    size -= step;
  }
}

}  // namespace

Link::Link(async::Executor executor, std::unique_ptr<Transport> transport,
           std::chrono::milliseconds write_time_max)
    : transport_(std::move(transport)),
      write_time_max_(write_time_max),
      changed_(executor),
      timer_(executor) {}

Link::~Link() = default;

void Link::start() {
  read_ahead();
}

void Link::read_ahead() {
  if (end_ - begin_ < kReadAheadBytes) start_read();
}

void Link::start_read() {
  if (reading_ || ended_ || closed_ || stopping_) return;
  const std::size_t kept = end_ - begin_;
  if (begin_ > 0 && kept > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
  begin_ = 0;
  end_ = kept;
  if (kept == 0 && buffer_.capacity() > 2 * read_bytes_) buffer_ = std::string();
  if (buffer_.size() != kept + read_bytes_) buffer_.resize(kept + read_bytes_);
  reading_ = true;
  self_while_reading_ = shared_from_this();
  transport_->start_read(buffer_.data() + end_, read_bytes_,
                         [this](const auto& error, std::size_t size) { finish_read(error, size); });
}

void Link::finish_read(const boost::system::error_code& error, std::size_t size) {
  const auto self = std::move(self_while_reading_);
  reading_ = false;
  end_ += size;
  bytes_come_ += size;
  if (stopping_) {
    changed_.notify_all();
    return;
  }
  if (error || size == 0) {
    ended_cleanly_ = error == boost::asio::error::eof;
    end(error == boost::asio::error::eof ? "the peer closed the connection" : error.message());
    return;
  }
  if (waiting_) {
    changed_.notify_all();
  } else {
    read_ahead();
  }
  if (on_data_) std::exchange(on_data_, nullptr)();
}

void Link::end(std::string why) {
  if (ended_) return;
  ended_ = true;
  end_reason_ = std::move(why);
  changed_.notify_all();
  if (on_end_) std::exchange(on_end_, nullptr)();
}

void Link::consume(std::size_t size) {
  AT_ASSERT(size <= end_ - begin_);
  begin_ += size;
  read_ahead();
}

std::string Link::take(std::size_t bytes_max) {
  const std::size_t size = std::min(bytes_max, end_ - begin_);
  if (begin_ > 0 || size < end_ || size < kGiveAwayBytes || reading_) {
    std::string copy(buffer_, begin_, size);
    consume(size);
    return copy;
  }
  std::string piece = std::exchange(buffer_, std::string());
  piece.resize(size);
  begin_ = end_ = 0;
  read_ahead();
  return piece;
}

async::Task<base::Status> Link::wait_more() {
  const std::uint64_t seen = bytes_come_;
  const auto state = co_await boost::asio::this_coro::cancellation_state;
  if (state.cancelled() != boost::asio::cancellation_type::none) {
    co_return base::cancelled("receive");
  }
  start_read();
  waiting_ = true;
  auto wake = async::Wake::kNotified;
  while (bytes_come_ == seen && !ended_ && !read_expired_ && !interrupted_ &&
         wake != async::Wake::kCancelled) {
    wake = co_await changed_.wait();
  }
  waiting_ = false;
  if (bytes_come_ != seen) co_return base::Status();
  if (std::exchange(read_expired_, false)) {
    co_return base::deadline_exceeded("receive: nothing came in time");
  }
  if (ended_) co_return base::unavailable("receive: " + end_reason_);
  interrupted_ = false;
  co_return base::cancelled("receive");
}

async::Task<base::Status> Link::write(Buffers buffers) {
  std::size_t left = total(buffers);
  while (left > 0) {
    if (closed_) co_return base::unavailable("send: the connection is closed");
    boost::system::error_code error;
    std::size_t size = transport_->try_write(buffers, error);
    if (error) co_return base::unavailable("send: " + error.message());
    if (size == 0) {
      write_deadline_ = std::chrono::steady_clock::now() + write_time_max_;
      arm(write_deadline_);
      auto sent = co_await transport_->write_some(buffers);
      write_deadline_ = kNever;
      if (!sent) co_return std::move(sent).error();
      size = *sent;
    }
    advance(buffers, size);
    left -= size;
  }
  co_return base::Status();
}

void Link::set_read_deadline(std::chrono::milliseconds from_now) {
  read_expired_ = false;
  read_deadline_ = std::chrono::steady_clock::now() + from_now;
  arm(read_deadline_);
}

void Link::arm(Time deadline) {
  if (deadline >= armed_for_ || closed_) return;
  armed_for_ = deadline;
  timer_.expires_at(deadline);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    if (error) return;
    if (const auto self = weak.lock()) self->check_deadlines();
  });
}

void Link::check_deadlines() {
  armed_for_ = kNever;
  const Time now = std::chrono::steady_clock::now();
  if (write_deadline_ <= now) {
    abort();
    return;
  }
  if (read_deadline_ <= now) {
    read_deadline_ = kNever;
    read_expired_ = true;
    changed_.notify_all();
  }
  arm(std::min(read_deadline_, write_deadline_));
}

void Link::interrupt() {
  interrupted_ = true;
  changed_.notify_all();
}

void Link::shutdown_send() {
  if (!closed_) transport_->shutdown_send();
}

void Link::close() {
  if (std::exchange(closed_, true)) return;
  timer_.cancel();
  if (transport_) transport_->close();
  end("the connection is closed");
}

void Link::abort() {
  if (!closed_ && transport_) transport_->abort();
  close();
}

async::Task<std::unique_ptr<Transport>> Link::release() {
  stopping_ = true;
  timer_.cancel();
  on_end_ = nullptr;
  on_data_ = nullptr;
  if (reading_) transport_->cancel_read();
  while (reading_) co_await changed_.wait_shielded();
  closed_ = true;
  co_return std::move(transport_);
}

}  // namespace agenttier::http
