#include "http/cancel_scope.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace agenttier::http {
namespace asio = boost::asio;

// `cancelled` lives in the scope, which outlives run().
async::Task<void> CancelScope::run_quietly(async::Task<void> task, const bool& cancelled) {
  co_await asio::this_coro::throw_if_cancelled(false);
  if (!cancelled) co_await std::move(task);
}

void CancelScope::cancel() {
  cancelled_ = true;
  signal_.emit(asio::cancellation_type::terminal);
}

async::Task<void> CancelScope::run(async::Task<void> task) {
  // The spawned task has a slot of its own, so the awaiting task's slot is free to forward.
  const auto state = co_await asio::this_coro::cancellation_state;
  auto outer = state.slot();
  if (outer.is_connected()) {
    outer.assign([this](asio::cancellation_type type) { signal_.emit(type); });
  }
  const auto executor = co_await asio::this_coro::executor;
  auto quiet = run_quietly(std::move(task), cancelled_);
  co_await asio::co_spawn(executor, std::move(quiet),
                          asio::bind_cancellation_slot(signal_.slot(), asio::use_awaitable));
  if (outer.is_connected()) outer.clear();
}

}  // namespace agenttier::http
