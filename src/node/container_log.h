#pragma once
// The log of one container: what it writes to stdout and stderr, line by line, in a bounded file.
//
// The container holds fifos, opened for reading and writing, so that its output neither ends nor is
// lost while this program restarts: up to 64 KiB wait in each. Lines are kept as the container
// runtime interface writes them ("<time> stdout F <text>"), at most kLineBytesMax each, longer ones
// in parts ("P"). At kFileBytesMax the file becomes <name>.log.1 and a new one begins. A container
// that writes faster than kBytesPerSecondMax waits.
//
// One loop; run() ends after finish(), having read what was left, or when its task is cancelled.
//
// Example:
//   AT_TRY(LogStreams streams, make_log_streams(base));     // given to the runtime, then closed
//   group.spawn(log->run());
//   ... the container ended: log->finish();

#include <cstdint>
#include <memory>
#include <string>

#include "async/blocking_pool.h"
#include "async/event.h"
#include "async/timers.h"
#include "base/result.h"
#include "node/log_lines.h"
#include "os/fd.h"

namespace agenttier::node {

inline constexpr std::uint64_t kLogFileBytesMax = 10ULL << 20U;
inline constexpr std::uint64_t kLogBytesPerSecondMax = 8ULL << 20U;

struct LogStreams {
  os::Fd out;
  os::Fd err;
};

// `base` is the path without ".log". Makes the fifos if they are not there.
base::Result<LogStreams> make_log_streams(const std::string& base);

class ContainerLog {
 public:
  // The references outlive the log.
  ContainerLog(async::Executor executor, async::BlockingPool& blocking, async::Timers& timers,
               std::string base);
  ~ContainerLog();

  async::Task<void> run();
  // The container has ended: read what its fifos still hold, then end.
  void finish();
  bool finished() const;
  // Wakes when lines were added or the log finished.
  async::Task<async::Wake> wait_change();

  const std::string& base() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace agenttier::node
