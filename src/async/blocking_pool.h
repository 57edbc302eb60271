#pragma once
// A BlockingPool runs blocking calls (mount, runc, fsync) on its own threads, so that the loop never
// waits for the kernel. The callable runs to its end even if the waiting task is cancelled: nothing
// is left half done. It must own what it uses, or use what outlives the pool's join.
//
// Example:
//   auto made = co_await blocking.run([path] { return make_directory(path); });

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
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
    // The call is shielded from cancellation: its result is awaited whatever happens.
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      co_await boost::asio::co_spawn(pool_.get_executor(), call(std::move(function)), boost::asio::use_awaitable);
      co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::enable_terminal_cancellation());
    } else {
      auto result = co_await boost::asio::co_spawn(pool_.get_executor(), call(std::move(function)),
                                                   boost::asio::use_awaitable);
      co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::enable_terminal_cancellation());
      co_return result;
    }
  }

 private:
  template <class F>
  static Task<std::invoke_result_t<F>> call(F function) {
    co_return function();
  }

  boost::asio::thread_pool pool_;
};

}  // namespace agenttier::async
