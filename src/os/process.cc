#include "os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "async/blocking_pool.h"
#include "async/shield.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "os/file.h"

namespace agenttier::os {
namespace asio = boost::asio;
namespace {

using base::Result;
using base::Status;
using Descriptor = asio::posix::stream_descriptor;

constexpr std::size_t kStdinBytesMax = 60 * 1024;  // fits a pipe, so that writing never waits
constexpr const char* kSafePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::from_errno("make a pipe", errno);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Result<Fd> make_stdin(const Command& command) {
  if (command.stdin_text.empty()) return open_file("/dev/null", O_RDONLY);
  if (command.stdin_text.size() > kStdinBytesMax) {
    return base::invalid(command.argv[0] + ": standard input is over 60 KiB");
  }
  AT_TRY(Pipe pipe, make_pipe());
  const ssize_t written =
      ::write(pipe.write.get(), command.stdin_text.data(), command.stdin_text.size());
  if (written != static_cast<ssize_t>(command.stdin_text.size())) {
    return base::from_errno("write standard input of " + command.argv[0], errno);
  }
  return std::move(pipe.read);
}

std::vector<std::string> child_environment(const std::vector<std::string>& extra) {
  static constexpr std::array kKept = {"HOME",          "TMPDIR",      "HTTP_PROXY",  "HTTPS_PROXY",
                                       "NO_PROXY",      "http_proxy",  "https_proxy", "no_proxy",
                                       "SSL_CERT_FILE", "SSL_CERT_DIR"};
  std::vector<std::string> env = extra;
  const auto named = [&env](std::string_view name) {
    return std::any_of(env.begin(), env.end(), [name](const std::string& entry) {
      return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
    });
  };
  if (!named("PATH")) env.push_back(std::string("PATH=") + kSafePath);
  for (const char* name : kKept) {
    const char* value = ::getenv(name);
    if (value != nullptr && !named(name)) env.push_back(std::string(name) + "=" + value);
  }
  return env;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

class SpawnSetup {
 public:
  SpawnSetup() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  // Descriptor i of the child is the i-th of these. They are moved out of the way first: any of
  // them may have another's target number itself.
  void descriptors(const std::vector<int>& given) {
    constexpr int kAside = 500;
    const int count = static_cast<int>(given.size());
    for (int i = 0; i < count; ++i) {
      ::posix_spawn_file_actions_adddup2(&actions, given[static_cast<std::size_t>(i)], kAside + i);
    }
    for (int i = 0; i < count; ++i) ::posix_spawn_file_actions_adddup2(&actions, kAside + i, i);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, count);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

struct Child {
  pid_t pid = -1;
  Fd pidfd;
  Fd out;  // closed if given away
  Fd err;
};

// Kills and reaps whatever happened, so that no path leaves a zombie.
void kill_child(const Child& child) {
  ::kill(-child.pid, SIGKILL);
  ::kill(child.pid, SIGKILL);
}

// Moves the calling thread into a mount namespace without one mount point, for as long as it lives.
// What a process that was started meanwhile sees is a copy: later mounts of the server do not show.
class MountView {
 public:
  static Result<std::unique_ptr<MountView>> without(const std::string& mount_point) {
    AT_TRY(Fd home, open_file("/proc/thread-self/ns/mnt", O_RDONLY));
    // Also parts the thread's working folder from the process's, which setns() insists on.
    if (::unshare(CLONE_NEWNS) != 0) return base::from_errno("make a mount namespace", errno);
    std::unique_ptr<MountView> view(new MountView(std::move(home)));
    if (::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      return base::from_errno("make the mounts private", errno);
    }
    if (::umount2(mount_point.c_str(), MNT_DETACH) != 0) {
      return base::from_errno("hide " + mount_point, errno);
    }
    return view;
  }
  ~MountView() {
    // A thread that cannot go home would do later work on the wrong mounts.
    AT_ASSERT(::setns(home_.get(), CLONE_NEWNS) == 0);
  }

 private:
  explicit MountView(Fd home) : home_(std::move(home)) {}
  Fd home_;
};

Result<Child> spawn(Command command) {
  if (command.argv.empty()) return base::invalid("no program to run");
  const auto program = command.argv[0].find('/') == std::string::npos
                           ? find_program(command.argv[0])
                           : std::optional<std::string>(command.argv[0]);
  if (!program) return base::not_found(command.argv[0] + ": the program is not installed");

  Fd in;
  if (command.stdin_fd < 0) {
    AT_TRY(in, make_stdin(command));
  }
  Pipe out, err;
  if (command.stdout_fd < 0) {
    AT_TRY(out, make_pipe());
  }
  if (command.stderr_fd < 0) {
    AT_TRY(err, make_pipe());
  }
  SpawnSetup setup;
  if (!command.cwd.empty()) {
    ::posix_spawn_file_actions_addchdir_np(&setup.actions, command.cwd.c_str());
  }
  std::vector<int> descriptors = {command.stdin_fd < 0 ? in.get() : command.stdin_fd,
                                  command.stdout_fd < 0 ? out.write.get() : command.stdout_fd,
                                  command.stderr_fd < 0 ? err.write.get() : command.stderr_fd};
  descriptors.insert(descriptors.end(), command.passed_fds.begin(), command.passed_fds.end());
  setup.descriptors(descriptors);
  std::vector<std::string> env = child_environment(command.env);
  Child child;
  std::unique_ptr<MountView> view;
  if (!command.hidden_mount.empty()) {
    AT_TRY(view, MountView::without(command.hidden_mount));
  }
  const int failure = ::posix_spawn(&child.pid, program->c_str(), &setup.actions, &setup.attributes,
                                    pointers(command.argv).data(), pointers(env).data());
  view.reset();
  if (failure != 0) return base::from_errno("start " + command.argv[0], failure);
  auto pidfd = open_pidfd(child.pid);
  if (!pidfd) {
    kill_child(child);
    ::waitpid(child.pid, nullptr, 0);
    return std::move(pidfd).error();
  }
  child.pidfd = std::move(*pidfd);
  child.out = std::move(out.read);
  child.err = std::move(err.read);
  return child;
}

// Reads what there is now; true at the end of the stream.
bool read_available(int fd, std::string& text, std::size_t bytes_max) {
  std::array<char, 16384> buffer;
  pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
  while (::poll(&readable, 1, 0) > 0) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return true;
    if (count < 0) return errno != EINTR && errno != EAGAIN;
    const std::size_t room = bytes_max - std::min(bytes_max, text.size());
    text.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
  }
  return false;
}

async::Task<void> collect(Descriptor& source, std::string& text, std::size_t bytes_max) {
  while (source.is_open()) {
    const auto [error] =
        co_await source.async_wait(Descriptor::wait_read, asio::as_tuple(asio::use_awaitable));
    if (error || read_available(source.native_handle(), text, bytes_max)) break;
  }
}

// Collects until the process ended; the pipes may stay open in its descendants.
async::Task<void> until_ended(Descriptor& pidfd) {
  co_await pidfd.async_wait(Descriptor::wait_read, asio::as_tuple(asio::use_awaitable));
}

async::Task<void> idle(asio::steady_timer& timer) {
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

// A stream's end must not end the race against the process, so wait on after it.
async::Task<void> collect_on(Descriptor& source, std::string& text, std::size_t bytes_max,
                             asio::steady_timer& never) {
  co_await collect(source, text, bytes_max);
  co_await idle(never);
}

enum class Ending { kExited, kTimedOut, kCancelled };

struct Streams {
  Descriptor pidfd;
  Descriptor out;
  Descriptor err;
  CommandResult result;
};

void attach(Descriptor& descriptor, Fd fd) {
  if (fd.is_open()) descriptor.assign(fd.release());
}

async::Task<Ending> wait_for_end(Streams& streams, std::chrono::milliseconds time_max,
                                 std::size_t output_bytes_max) {
  using namespace asio::experimental::awaitable_operators;
  // A race that began after the cancellation would never hear of it.
  if (co_await async::is_cancelled()) co_return Ending::kCancelled;
  const async::Executor executor = co_await async::current_executor();
  asio::steady_timer limit(executor, time_max), never(executor), never_too(executor);
  never.expires_at(asio::steady_timer::time_point::max());
  never_too.expires_at(asio::steady_timer::time_point::max());
  const auto first =
      co_await (until_ended(streams.pidfd) || idle(limit) ||
                collect_on(streams.out, streams.result.out, output_bytes_max, never) ||
                collect_on(streams.err, streams.result.err, output_bytes_max, never_too));
  if (first.index() == 0) {
    // A cancelled wait looks the same; only an ended process makes its pidfd readable.
    pollfd ended{.fd = streams.pidfd.native_handle(), .events = POLLIN, .revents = 0};
    if (::poll(&ended, 1, 0) > 0) co_return Ending::kExited;
  }
  co_return co_await async::is_cancelled() ? Ending::kCancelled : Ending::kTimedOut;
}

class RealCommandRunner final : public CommandRunner {
 public:
  explicit RealCommandRunner(async::BlockingPool& blocking) : blocking_(blocking) {}

  async::Task<Result<CommandResult>> run(Command command) override {
    const std::string program = command.argv.empty() ? "" : command.argv[0];
    const auto time_max = command.time_max;
    const std::size_t output_bytes_max = command.output_bytes_max;
    auto spawner = [moved = std::move(command)]() mutable { return spawn(std::move(moved)); };
    AT_CO_TRY(Child child, co_await blocking_.run(std::move(spawner)));

    const async::Executor executor = co_await async::current_executor();
    Streams streams{Descriptor(executor), Descriptor(executor), Descriptor(executor), {}};
    attach(streams.pidfd, std::move(child.pidfd));
    attach(streams.out, std::move(child.out));
    attach(streams.err, std::move(child.err));
    const Ending ending = co_await wait_for_end(streams, time_max, output_bytes_max);
    if (ending != Ending::kExited) {
      kill_child(child);
      co_await streams.pidfd.async_wait(Descriptor::wait_read, async::shielded());
    }
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (ending == Ending::kCancelled) co_return base::cancelled(program + ": cancelled");
    if (ending == Ending::kTimedOut) {
      co_return base::deadline_exceeded(program + ": did not end within " +
                                        std::to_string(time_max.count()) + " ms and was killed");
    }
    drain(streams, output_bytes_max);
    streams.result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    co_return std::move(streams.result);
  }

 private:
  static void drain(Streams& streams, std::size_t output_bytes_max) {
    if (streams.out.is_open()) {
      (void)read_available(streams.out.native_handle(), streams.result.out, output_bytes_max);
    }
    if (streams.err.is_open()) {
      (void)read_available(streams.err.native_handle(), streams.result.err, output_bytes_max);
    }
  }

  async::BlockingPool& blocking_;
};

// The kernel's struct pidfd_info, newer than the headers this is built with.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup_id;
  std::uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kPidfdInfoExit = 1U << 3;

ExitStatus from_wait_status(int status) {
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

std::vector<pid_t> ended_children() {
  std::vector<pid_t> result;
  for (const std::string& task : list_directory("/proc/self/task")) {
    std::ifstream children("/proc/self/task/" + task + "/children");
    pid_t pid = 0;
    while (children >> pid) {
      siginfo_t info{};
      const int done = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
      if (done == 0 && info.si_pid == pid) result.push_back(pid);
    }
  }
  return result;
}

}  // namespace

std::string CommandResult::last_error_line() const {
  std::string_view text = err;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  text = text.substr(
      text.find_last_of('\n') == std::string_view::npos ? 0 : text.find_last_of('\n') + 1);
  if (text.empty()) return "exit code " + std::to_string(exit_code);
  return base::to_valid_utf8(text.substr(0, 500));
}

async::Task<Result<std::string>> CommandRunner::run_checked(Command command) {
  std::string name = command.argv.empty() ? "" : command.argv[0];
  AT_CO_TRY(CommandResult result, co_await run(std::move(command)));
  if (result.exit_code != 0) co_return base::internal(name + ": " + result.last_error_line());
  co_return std::move(result.out);
}

std::unique_ptr<CommandRunner> make_command_runner(async::BlockingPool& blocking) {
  return std::make_unique<RealCommandRunner>(blocking);
}

Result<Fd> open_pidfd(pid_t pid) {
  const long fd = ::syscall(SYS_pidfd_open, pid, 0);
  if (fd < 0) {
    if (errno == ESRCH) return base::not_found("process " + std::to_string(pid) + " has ended");
    return base::from_errno("watch process " + std::to_string(pid), errno);
  }
  return Fd(static_cast<int>(fd));
}

std::optional<ExitStatus> take_exit_status(int pidfd) {
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) == 0) {
    if (info.si_pid == 0) return std::nullopt;
    if (info.si_code == CLD_EXITED) return ExitStatus{info.si_status, 0};
    return ExitStatus{128 + info.si_status, info.si_status};
  }
  PidfdInfo details{};
  details.mask = kPidfdInfoExit;
  if (::ioctl(pidfd, _IOWR(0xFF, 11, PidfdInfo), &details) != 0) return std::nullopt;
  if ((details.mask & kPidfdInfoExit) == 0) return std::nullopt;
  return from_wait_status(details.exit_code);
}

Status send_signal(int pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0) return {};
  if (errno == ESRCH) return base::not_found("the process has ended");
  return base::from_errno("send a signal", errno);
}

Result<unsigned long long> process_start_ticks(pid_t pid) {
  const std::string subject = "process " + std::to_string(pid);
  AT_TRY(std::string stat, read_file("/proc/" + std::to_string(pid) + "/stat", 4096));
  // The name in parentheses may hold anything, also spaces; field 22 counts from behind it.
  const std::size_t behind_name = stat.rfind(')');
  if (behind_name == std::string::npos) return base::internal(subject + ": unreadable state");
  std::istringstream fields(stat.substr(behind_name + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  unsigned long long ticks = 0;
  if (!(fields >> ticks)) return base::internal(subject + ": unreadable state");
  return ticks;
}

Status become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return {};
  return base::from_errno("become the reaper of orphaned processes", errno);
}

std::size_t OrphanReaper::sweep() {
  std::vector<pid_t> ended = ended_children();
  std::size_t reaped = 0;
  std::erase_if(ended, [&](pid_t pid) {
    if (std::find(seen_.begin(), seen_.end(), pid) == seen_.end()) return false;
    reaped += ::waitpid(pid, nullptr, WNOHANG) == pid ? 1U : 0U;
    return true;
  });
  seen_ = std::move(ended);
  return reaped;
}

std::uint64_t open_files_max() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : 1024;
}

std::optional<std::string> find_program(const std::string& name) {
  const char* inherited = ::getenv("PATH");
  std::istringstream folders(std::string(inherited == nullptr ? "" : inherited) + ":" + kSafePath);
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    if (folder.empty() || folder[0] != '/') continue;
    const std::string path = folder + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

}  // namespace agenttier::os
