#include "runtime/reaper.h"

#include <sys/wait.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <utility>

#include "base/assert.h"

namespace agenttier::runtime {

Reaper::Reaper(async::Executor executor)
    : child_signals_(executor, SIGCHLD), collected_(executor) {}

void Reaper::watch(pid_t pid, OnExit on_exit) {
  const bool is_new = watched_.emplace(pid, std::move(on_exit)).second;
  AT_ASSERT(is_new);
}

async::Task<void> Reaper::run() {
  collect();  // what ended before this task started
  while (!co_await async::is_cancelled()) {
    const auto [failure, number] =
        co_await child_signals_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    if (failure) co_return;
    collect();
  }
}

void Reaper::collect() {
  bool any = false;
  int status = 0;
  // One signal may stand for many children.
  while (true) {
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) break;
    any = true;
    const auto found = watched_.find(pid);
    if (found == watched_.end()) continue;
    const OnExit on_exit = std::move(found->second);
    watched_.erase(found);
    on_exit(status);
  }
  if (any) collected_.notify_all();
}

bool Reaper::has_children() const {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace agenttier::runtime
