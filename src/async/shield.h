#pragma once
// What goes on to its end although its task was cancelled: an end that is certain to come soon, or
// the tidying after a cancellation. The task still knows of the cancellation afterwards, which it
// would not if its cancellation state were reset.
//
// Example:
//   co_await pidfd.async_wait(Descriptor::wait_read, shielded());  // killed already
//   co_await run_shielded(give_back_the_lease());

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/task.h"

namespace agenttier::async {

// The completion token of an Asio operation that cancellation does not end; gives a tuple that
// begins with the error_code.
inline auto shielded() {
  return boost::asio::bind_cancellation_slot(boost::asio::cancellation_slot(),
                                             boost::asio::as_tuple(boost::asio::use_awaitable));
}

// Runs a task that is not cancelled when the caller is or was. What it waits for needs a limit.
Task<void> run_shielded(Task<void> task);

}  // namespace agenttier::async
