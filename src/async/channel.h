#pragma once
// A Channel<T> passes values between tasks of one loop, in order, holding at most `values_max`.
// send() waits while it is full; receive() waits while it is empty and gives nothing once the
// channel is closed and drained, or the waiting task is cancelled. Not thread-safe.

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "async/event.h"
#include "async/task.h"
#include "base/result.h"

namespace agenttier::async {

template <class T>
class Channel {
 public:
  Channel(Executor executor, std::size_t values_max)
      : changed_(std::move(executor)), values_max_(values_max) {}

  // kCancelled if the channel is closed or the task is cancelled.
  Task<base::Status> send(T value) {
    while (!closed_ && values_.size() >= values_max_) {
      if (co_await changed_.wait() == Wake::kCancelled) co_return base::cancelled("send");
    }
    if (closed_) co_return base::cancelled("channel is closed");
    values_.push_back(std::move(value));
    changed_.notify_all();
    co_return base::Status();
  }

  // kExhausted when full, kCancelled when closed.
  base::Status try_send(T value) {
    if (closed_) return base::cancelled("channel is closed");
    if (values_.size() >= values_max_) return base::exhausted("channel is full");
    values_.push_back(std::move(value));
    changed_.notify_all();
    return {};
  }

  Task<std::optional<T>> receive() {
    while (values_.empty() && !closed_) {
      if (co_await changed_.wait() == Wake::kCancelled) co_return std::nullopt;
    }
    if (values_.empty()) co_return std::nullopt;
    T value = std::move(values_.front());
    values_.pop_front();
    changed_.notify_all();
    co_return std::optional<T>(std::move(value));
  }

  void close() {
    closed_ = true;
    changed_.notify_all();
  }

  std::size_t size() const { return values_.size(); }
  bool closed() const { return closed_; }

 private:
  Event changed_;
  std::size_t values_max_;
  std::deque<T> values_;
  bool closed_ = false;
};

}  // namespace agenttier::async
