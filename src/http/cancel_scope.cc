#include "http/cancel_scope.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace agenttier::http {
namespace asio = boost::asio;
namespace {

async::Task<void> without_throwing(async::Task<void> task) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await std::move(task);
}

}  // namespace

async::Task<void> CancelScope::run(async::Task<void> task) {
  // The spawned task has a slot of its own, so the awaiting task's slot is free to forward.
  const auto state = co_await asio::this_coro::cancellation_state;
  auto outer = state.slot();
  if (outer.is_connected()) {
    outer.assign([this](asio::cancellation_type type) { signal_.emit(type); });
  }
  const auto executor = co_await asio::this_coro::executor;
  auto quiet = without_throwing(std::move(task));
  co_await asio::co_spawn(executor, std::move(quiet),
                          asio::bind_cancellation_slot(signal_.slot(), asio::use_awaitable));
  if (outer.is_connected()) outer.clear();
}

}  // namespace agenttier::http
