#include "async/shield.h"

#include <boost/asio/co_spawn.hpp>
#include <exception>

namespace agenttier::async {
namespace asio = boost::asio;

Task<void> run_shielded(Task<void> task) {
  const Executor executor = co_await current_executor();
  const auto [failure] = co_await asio::co_spawn(executor, std::move(task), shielded());
  if (failure) std::rethrow_exception(failure);
}

}  // namespace agenttier::async
