#pragma once
// The Reaper collects every child that ended, as pid 1 must: those it was told of and the orphans
// that the kernel gave it.
//
// Guarantees: the status of a watched child is delivered exactly once, on the loop, and never lost:
// watch() is called in the same turn of the loop as spawn(), so that the child is known before it
// can be collected. One Reaper per program: it takes SIGCHLD.
//
// Example:
//   AT_TRY(const pid_t pid, spawn(plan));
//   reaper.watch(pid, [](int wait_status) { ... });

#include <sys/types.h>

#include <boost/asio/signal_set.hpp>
#include <cstddef>
#include <functional>
#include <map>

#include "async/event.h"
#include "async/task.h"

namespace agenttier::runtime {

class Reaper {
 public:
  using OnExit = std::function<void(int wait_status)>;

  explicit Reaper(async::Executor executor);

  void watch(pid_t pid, OnExit on_exit);
  // Runs until cancelled.
  async::Task<void> run();
  // Collects what has ended now.
  void collect();
  // Notified whenever a child was collected, watched or not.
  async::Event& collected() { return collected_; }
  // Whether this process has a child at all, ended or not.
  bool has_children() const;

 private:
  boost::asio::signal_set child_signals_;
  async::Event collected_;
  std::map<pid_t, OnExit> watched_;
};

}  // namespace agenttier::runtime
