#include "async/task.h"

#include <boost/asio/this_coro.hpp>

namespace agenttier::async {

Task<Executor> current_executor() {
  co_return co_await boost::asio::this_coro::executor;
}

Task<bool> is_cancelled() {
  const auto state = co_await boost::asio::this_coro::cancellation_state;
  co_return state.cancelled() != boost::asio::cancellation_type::none;
}

}  // namespace agenttier::async
