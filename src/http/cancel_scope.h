#pragma once
// A CancelScope runs a task that can be cancelled on its own, besides with the task that awaits it.
// A task that is cancelled before it began does not run.
//
// Example:
//   CancelScope scope;                        // somebody calls scope.cancel()
//   co_await scope.run(serve(std::move(connection)));

#include <boost/asio/cancellation_signal.hpp>

#include "async/task.h"

namespace agenttier::http {

class CancelScope {
 public:
  // One at a time. Exceptions of the task come out of here.
  async::Task<void> run(async::Task<void> task);
  void cancel();

 private:
  static async::Task<void> run_quietly(async::Task<void> task, const bool& cancelled);

  bool cancelled_ = false;
  boost::asio::cancellation_signal signal_;
};

}  // namespace agenttier::http
