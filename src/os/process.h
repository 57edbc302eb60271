#pragma once
// Child processes: short-lived tools (runc, skopeo, umoci) with captured output and a time limit.
//
// Guarantees: never a shell, always an argument vector; the child gets its own process group,
// default signal handlers, and only the descriptors its Command names. The call ends when the child
// itself has ended, whatever its descendants still hold open. Past the time limit, or when the
// awaiting task is cancelled, the whole group is killed. Output beyond the limit is read and
// dropped.
//
// A tool whose child outlives it (runc starting a container) must not be given captured streams,
// for they would break with the tool: name descriptors in `stdout_fd` and `stderr_fd` instead.
//
// Example:
//   os::Command command{.argv = {"skopeo", "copy", from, to}, .time_max = 10min};
//   AT_CO_TRY(os::CommandResult result, co_await runner.run(std::move(command)));
//   if (result.exit_code != 0) co_return base::unavailable("pull: " + result.last_error_line());

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/result.h"
#include "os/fd.h"

namespace agenttier::async {
class BlockingPool;
}

namespace agenttier::os {

struct Command {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH unless it has a slash
  std::vector<std::string> env;   // "NAME=value"; PATH, HOME, TMPDIR and proxy settings are kept
  std::string cwd;                // empty: the server's
  std::string stdin_text;         // given and closed; at most 60 KiB
  std::chrono::milliseconds time_max{30000};
  std::size_t output_bytes_max = 256 * 1024;  // of stdout and of stderr, each
  int stdin_fd = -1;                          // -1: stdin_text
  // A mount point that the child and its descendants do not see; the others see what they saw, and
  // mounts that the child makes stay its own. Empty: none.
  std::string hidden_mount;
  int stdout_fd = -1;           // -1: captured
  int stderr_fd = -1;           // -1: captured
  std::vector<int> passed_fds;  // become 3, 4, ... in the child
};

struct CommandResult {
  int exit_code = 0;  // 128 + signal if a signal ended it
  std::string out;
  std::string err;
  // The last line of standard error that has text, for messages; at most 500 bytes, valid UTF-8.
  std::string last_error_line() const;
};

class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  // An error means that it could not be started (kNotFound if the program is missing), did not end
  // in time (kDeadline) or was cancelled; a bad exit code is a value.
  virtual async::Task<base::Result<CommandResult>> run(Command command) = 0;
  // The same, with a bad exit code made an error: "<program> <first word>: <last error line>".
  async::Task<base::Result<std::string>> run_checked(Command command);
};

// `blocking` must outlive the runner; it only starts the children.
std::unique_ptr<CommandRunner> make_command_runner(async::BlockingPool& blocking);

// How a process ended, from wait status.
struct ExitStatus {
  int exit_code = 0;  // 128 + signal
  int signal = 0;     // 0 if it exited
  bool operator==(const ExitStatus&) const = default;
};

base::Result<Fd> open_pidfd(pid_t pid);
// Reaps the ended child behind `pidfd`, or, for a process that is another's child, asks the kernel
// (Linux 6.15+) for the status it left. Nothing if neither is possible (yet).
std::optional<ExitStatus> take_exit_status(int pidfd);
// kNotFound if it has ended.
base::Status send_signal(int pidfd, int signal);

// Time of start in clock ticks since boot, which with the pid names a process for good.
base::Result<unsigned long long> process_start_ticks(pid_t pid);

// Orphaned descendants become children of this process instead of init's, so that their exit status
// can be read.
base::Status become_subreaper();
// Reaps ended children that nobody waits for: those seen ended in two calls in a row.
class OrphanReaper {
 public:
  std::size_t sweep();

 private:
  std::vector<pid_t> seen_;
};

// How many files a process may open at most: this process's hard limit, which it passes on.
std::uint64_t open_files_max();

// Absolute path of a program in PATH (and the sbin folders).
std::optional<std::string> find_program(const std::string& name);

}  // namespace agenttier::os
