// The runtime of a sandbox: pid 1, started by the node in any image.
//
// usage: agenttier-runtime [-- command argument...]
// Its environment is described in runtime/config.h, its API in docs/runtime-protocol.md.

#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

#include "observe/log.h"
#include "runtime/config.h"
#include "runtime/limits.h"
#include "runtime/supervisor.h"

namespace {

using namespace agenttier;

// What only this program may use is closed where another begins.
void keep_inner_groups(const runtime::Config& config) {
  for (int i = 0; i < config.inner_groups; ++i) {
    (void)fcntl(runtime::kInnerGroupFirst + i, F_SETFD, FD_CLOEXEC);
  }
}

// Descriptors 0 to 2 must exist, or the next file opened would take their place.
void open_standard_streams() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= 2);
  if (fd > 2) close(fd);
}

// Connections and pipes need descriptors; programs get the limit that the runtime was given.
std::size_t raise_open_files_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return 0;
  const rlim_t given = limit.rlim_cur;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, runtime::kOpenFilesMax);
  if (limit.rlim_cur <= given || setrlimit(RLIMIT_NOFILE, &limit) < 0) return 0;
  return given;
}

void prepare_process() {
  open_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);
  // Programs of the same user must not read this one's memory, where tokens pass through.
  (void)prctl(PR_SET_DUMPABLE, 0);
  // Where pods share a process namespace, another is pid 1: orphans shall come here all the same.
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
  // One heap for all threads, returned to the system early: this program is small.
  (void)mallopt(M_ARENA_MAX, 1);
  (void)mallopt(M_TRIM_THRESHOLD, 64 * 1024);
  (void)mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

std::vector<std::string_view> environment() {
  std::vector<std::string_view> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return variables;
}

// What is for this program alone goes from the memory in which /proc shows it: not every kernel
// that runs sandboxes hides one process's environment from another of the same user.
void wipe_own_environment() {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (text.starts_with("AGENTTIER_RUNTIME_")) explicit_bzero(*variable, text.size());
  }
}

async::Task<int> run(runtime::Supervisor& supervisor) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  co_return co_await supervisor.run();
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process();
  const std::vector<std::string_view> arguments(argv + std::min(argc, 1), argv + argc);
  auto config = runtime::read_config(arguments, environment());
  if (!config) {
    std::fprintf(stderr, "agenttier-runtime: %s\n", config.error().message.c_str());
    return 2;
  }
  wipe_own_environment();
  keep_inner_groups(*config);
  boost::asio::io_context loop(1);
  runtime::Supervisor::Options options;
  options.open_files_max = raise_open_files_limit();
  runtime::Supervisor supervisor(loop.get_executor(), *std::move(config), options);
  boost::asio::co_spawn(loop, run(supervisor), [](const std::exception_ptr& failure, int code) {
    // Nothing is left to do, and a blocking call on a slow disk must not hold up the end.
    std::_Exit(failure ? 1 : code);
  });
  loop.run();
  return 1;
}
