#pragma once
// spawn() starts a program in a session of its own, as fast as the kernel can (the child borrows
// the parent's memory until it executes, so that nothing is copied).
//
// In the child: signals are as a new program expects them, no descriptor but 0, 1 and 2 is open,
// the working directory and (for a terminal) the controlling tty are set. A failure of any step
// comes back with the step and its subject: "start: /bin/x: No such file or directory". Not
// thread-safe: one thread spawns.

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace agenttier::runtime {

struct SpawnPlan {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH of `env` if it has no '/'
  std::vector<std::string> env;   // "NAME=value"
  std::string cwd;
  // Where to go if `cwd` does not exist; empty: that is an error.
  std::string cwd_fallback;
  int stdin_fd = -1;  // all three are >= 3, or exactly their target number to be inherited
  int stdout_fd = -1;
  int stderr_fd = -1;
  std::size_t open_files_max = 0;  // the child's soft limit; zero: as the parent's
  // The control groups that it moves to, by descriptors that take "0" for whoever writes it. One
  // that cannot be entered is passed over: then the program counts with the parent.
  std::vector<int> groups;
  enum class Terminal { kNone, kControlling } terminal = Terminal::kNone;  // of stdin_fd
};

base::Result<pid_t> spawn(const SpawnPlan& plan);

}  // namespace agenttier::runtime
