#pragma once
// A container's pid 1, watched without polling: the kernel wakes the loop when it ends.
//
// The exit status is exact for containers started by this process (their reaper), and for adopted
// ones where the kernel keeps it (Linux 6.15); else it is unknown and said to be.
//
// Example:
//   AT_TRY(ContainerProcess process, ContainerProcess::open(executor, pid, start_ticks));
//   auto ended = co_await process.wait(timers);

#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>

#include "async/task.h"
#include "async/timers.h"
#include "base/result.h"
#include "os/process.h"

namespace agenttier::node {

class ContainerProcess {
 public:
  // kNotFound if the pid is gone or has been given to another process. 0 ticks: not compared.
  static base::Result<ContainerProcess> open(async::Executor executor, pid_t pid,
                                             unsigned long long start_ticks);

  pid_t pid() const { return pid_; }
  unsigned long long start_ticks() const { return start_ticks_; }
  base::Status signal(int signal);

  struct Ending {
    async::Wake wake;  // kNotified: it ended; kCancelled: the task was cancelled
    std::optional<os::ExitStatus> status;  // nothing: ended, nobody knows how
  };
  // One task waits at a time; the process outlives the wait.
  async::Task<Ending> wait(async::Timers& timers);

 private:
  ContainerProcess(async::Executor executor, pid_t pid, unsigned long long start_ticks, int pidfd);

  pid_t pid_;
  unsigned long long start_ticks_;
  boost::asio::posix::stream_descriptor pidfd_;
};

}  // namespace agenttier::node
