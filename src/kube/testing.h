#pragma once
// Helpers for tests of whatever speaks to the API: a loop that runs tasks to their end, and a
// transport that fails on purpose. Header only, so that tests of every folder can use it.
//
// Example:
//   TestLoop loop;
//   FaultyClient faulty(transport);
//   faulty.fail_request(3, FaultyClient::When::kAfter);   // executed, but the answer is lost
//   Client client(faulty, {});
//   auto pod = loop.run(client.get(type, key));

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/task_group.h"
#include "async/time_limit.h"
#include "async/timers.h"
#include "base/assert.h"
#include "base/random.h"
#include "http/service.h"

namespace agenttier::kube {

// An event loop driven by a test, with fake time and seeded randomness.
class TestLoop {
 public:
  ~TestLoop() { close(); }

  async::Executor executor() { return loop_.get_executor(); }
  async::FakeTimers& timers() { return timers_; }
  base::Random& random() { return random_; }

  // Runs until nothing is ready. Work on other threads is not waited for: see run_until.
  void run_until_idle() {
    loop_.restart();
    while (loop_.poll() > 0) loop_.restart();
  }

  // Runs until `done()`; false after ten seconds of real time without it.
  template <class F>
  bool run_until(F done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  // Lets fake time pass in small steps and runs what becomes due.
  void advance(std::chrono::nanoseconds total,
               std::chrono::nanoseconds step = std::chrono::milliseconds(100)) {
    run_until_idle();
    for (auto left = total; left.count() > 0; left -= step) {
      timers_.advance(std::min(step, left));
      run_until_idle();
    }
  }

  // Runs the task to its end and gives its result. Fake time does not pass.
  template <class T>
  T run(async::Task<T> task) {
    std::optional<T> result;
    spawn(keep<T>(std::move(task), &result));
    AT_ASSERT(run_until([&] { return result.has_value(); }));
    return *std::move(result);
  }
  void run(async::Task<void> task) {
    bool done = false;
    spawn(note(std::move(task), &done));
    AT_ASSERT(run_until([&] { return done; }));
  }

  // Starts a task that lives until close().
  void spawn(async::Task<void> task) { AT_ASSERT(tasks_.spawn(std::move(task)).has_value()); }
  // Cancels what was spawned and waits for its end.
  void close() {
    // From within the loop, where a task that is about to end cannot end in between.
    boost::asio::post(loop_, [this] { tasks_.cancel_all(); });
    run_until_idle();
    AT_ASSERT(run_until([&] { return tasks_.size() == 0; }));
  }

 private:
  template <class T>
  static async::Task<void> keep(async::Task<T> task, std::optional<T>* result) {
    result->emplace(co_await std::move(task));
  }
  static async::Task<void> note(async::Task<void> task, bool* done) {
    co_await std::move(task);
    *done = true;
  }

  boost::asio::io_context loop_{1};
  async::FakeTimers timers_{loop_.get_executor()};
  base::SeededRandom random_{1};
  async::TaskGroup tasks_{loop_.get_executor(), {.name = "test", .tasks_max = 10'000}};
};

// A transport that loses chosen requests or their answers, and cuts watches.
class FaultyClient final : public http::Client {
 public:
  enum class When {
    kBefore,  // the server never sees the request
    kAfter,   // the server executes it, the caller never hears of it
  };

  FaultyClient(http::Client& transport, async::Executor executor)
      : transport_(transport), shared_(std::make_shared<Shared>(std::move(executor))) {}

  // Fails the n-th request from now, counted from 1. Watches count too.
  void fail_request(std::size_t n, When when) { failures_.push_back({sent_ + n, when}); }
  // Fails everything until heal().
  void partition() { partitioned_ = true; }
  void heal() { partitioned_ = false; }
  // Ends all open watches as a broken connection does.
  void drop_watches() {
    ++shared_->epoch;
    shared_->dropped.notify_all();
  }

  std::size_t sent() const { return sent_; }
  // Every request so far as "METHOD target".
  const std::vector<std::string>& log() const { return log_; }

  async::Task<base::Result<http::Response>> send(http::Request request) override {
    ++sent_;
    log_.push_back(request.method + " " + request.target);
    const bool is_watch = request.target.find("watch=true") != std::string::npos;
    const std::optional<When> when = take_failure();
    if (partitioned_ || when == When::kBefore) co_return base::unavailable("injected: not sent");
    auto response = co_await transport_.send(std::move(request));
    if (when == When::kAfter) co_return base::unavailable("injected: the answer is lost");
    if (response && is_watch && response->body.is_stream()) {
      std::unique_ptr<http::BodyReader> reader =
          std::make_unique<CutReader>(response->body.into_reader(), shared_);
      response->body = http::Body(std::move(reader));
    }
    co_return response;
  }

 private:
  struct Failure {
    std::size_t at;
    When when;
  };
  struct Shared {
    explicit Shared(async::Executor executor) : dropped(std::move(executor)) {}
    async::Event dropped;
    int epoch = 0;
  };

  class CutReader final : public http::BodyReader {
   public:
    CutReader(std::unique_ptr<http::BodyReader> inner, std::shared_ptr<Shared> shared)
        : inner_(std::move(inner)), shared_(std::move(shared)), epoch_(shared_->epoch) {}

    async::Task<base::Result<std::string>> read() override {
      using Piece = base::Result<std::string>;
      if (epoch_ != shared_->epoch) co_return base::unavailable("injected: watch dropped");
      auto piece = co_await async::run_until_alarm<Piece>(inner_->read(), shared_->dropped.wait());
      if (piece) co_return *std::move(piece);
      co_return base::unavailable("injected: watch dropped");
    }

   private:
    std::unique_ptr<http::BodyReader> inner_;
    std::shared_ptr<Shared> shared_;
    int epoch_;
  };

  std::optional<When> take_failure() {
    for (auto it = failures_.begin(); it != failures_.end(); ++it) {
      if (it->at != sent_) continue;
      const When when = it->when;
      failures_.erase(it);
      return when;
    }
    return std::nullopt;
  }

  http::Client& transport_;
  std::shared_ptr<Shared> shared_;
  std::vector<Failure> failures_;
  std::vector<std::string> log_;
  std::size_t sent_ = 0;
  bool partitioned_ = false;
};

}  // namespace agenttier::kube
