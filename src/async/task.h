#pragma once
// Task<T> is a coroutine that gives a T; it starts when awaited or spawned into a TaskGroup.
//
// Rules: a coroutine takes its parameters by value, or documents that they outlive it; a coroutine
// lambda captures nothing. No lock, iterator or reference into a container is held across co_await.
// Everything that shares state runs on one loop thread, so code between two co_awaits is atomic.
//
// Cancellation: a task that a TaskGroup spawned does not throw when it is cancelled; operations it
// awaits return kCancelled (or operation_aborted), and it returns after cleaning up. is_cancelled()
// tells a loop that awaits nothing cancellable.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace agenttier::async {

using Executor = boost::asio::any_io_executor;

template <class T = void>
using Task = boost::asio::awaitable<T>;

// The executor of the loop that the calling task runs on.
Task<Executor> current_executor();
Task<bool> is_cancelled();

}  // namespace agenttier::async
