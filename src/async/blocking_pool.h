#pragma once
// A BlockingPool runs blocking calls (mount, runc, fsync) on its own threads, so that the loop
// never waits for the kernel. The callable runs to its end even if the waiting task is cancelled:
// nothing is left half done, its result is awaited, and is_cancelled() tells of the cancellation
// afterwards. The callable must not throw, and must own what it uses or use what outlives the
// pool's join.
//
// Example:
//   auto made = co_await blocking.run([path] { return make_directory(path); });

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "async/task.h"

namespace agenttier::async {

class BlockingPool {
 public:
  explicit BlockingPool(std::size_t threads) : pool_(threads) {}
  ~BlockingPool() { pool_.join(); }

  template <class F>
  Task<std::invoke_result_t<F>> run(F function) {
    using T = std::invoke_result_t<F>;
    namespace asio = boost::asio;
    // No cancellation slot is touched, so the task's state keeps what arrives meanwhile.
    if constexpr (std::is_void_v<T>) {
      co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(
          Initiate<F>{pool_}, asio::use_awaitable, std::move(function));
    } else {
      co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(T)>(
          Initiate<F>{pool_}, asio::use_awaitable, std::move(function));
    }
  }

 private:
  template <class F>
  struct Initiate {
    boost::asio::thread_pool& pool;

    template <class Handler>
    void operator()(Handler handler, F function) const {
      // The guard keeps the loop running until the result is back on it.
      auto guard = boost::asio::make_work_guard(boost::asio::get_associated_executor(handler));
      auto call = [guard = std::move(guard), handler = std::move(handler),
                   function = std::move(function)]() mutable {
        auto executor = guard.get_executor();
        if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
          function();
          boost::asio::post(executor, std::move(handler));
        } else {
          auto complete = [handler = std::move(handler), result = function()]() mutable {
            std::move(handler)(std::move(result));
          };
          boost::asio::post(executor, std::move(complete));
        }
      };
      boost::asio::post(pool, std::move(call));
    }
  };

  boost::asio::thread_pool pool_;
};

}  // namespace agenttier::async
