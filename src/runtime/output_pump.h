#pragma once
// An OutputPump moves what a program writes into a FollowedLog, and what comes after the program's
// end into nothing.
//
// Once told that the program exited it takes what the pipe held at that moment; it goes on until
// the end of file or until settle(). A pipe that is then still open is held by a child of the
// program: release() gives it away, so that the child can keep writing.

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "async/task.h"
#include "os/fd.h"
#include "runtime/followed_log.h"

namespace agenttier::async {
class TaskGroup;
}

namespace agenttier::runtime {

class OutputPump {
 public:
  OutputPump(async::Executor executor, os::Fd source, Channel channel, FollowedLog& log);

  // Ends at the end of file, after settle(), or when cancelled.
  async::Task<void> run();
  void program_exited();
  void settle();
  bool reached_end() const { return reached_end_; }
  os::Fd release();

 private:
  enum class Step : std::uint8_t { kMore, kWait, kEnd };
  Step read_once();
  bool settled() const { return settling_ && owed_bytes_ == 0; }

  boost::asio::posix::stream_descriptor source_;
  Channel channel_;
  FollowedLog& log_;
  bool settling_ = false;
  bool reached_end_ = false;
  std::size_t owed_bytes_ = 0;  // were in the pipe when the program exited
};

// Reads and forgets what children of ended programs write. At most kLingeringPipesMax are kept
// open; the oldest is closed for a new one.
class LingeringPipes {
 public:
  explicit LingeringPipes(async::TaskGroup& tasks, async::Executor executor);
  void adopt(os::Fd pipe);
  std::size_t size() const { return pipes_.size(); }

 private:
  using Pipe = boost::asio::posix::stream_descriptor;
  async::Task<void> discard(std::shared_ptr<Pipe> pipe);

  async::TaskGroup& tasks_;
  async::Executor executor_;
  std::deque<std::shared_ptr<Pipe>> pipes_;
};

}  // namespace agenttier::runtime
