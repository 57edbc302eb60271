#include "runtime/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "runtime/limits.h"

// The child shares the parent's memory: a sanitizer's bookkeeping must not run in it.
#if defined(__clang__)
#define AT_NO_SANITIZE __attribute__((no_sanitize("address", "undefined", "thread")))
#else
#define AT_NO_SANITIZE __attribute__((no_sanitize_address, no_sanitize_undefined))
#endif

namespace agenttier::runtime {
namespace {

constexpr std::size_t kStackBytes = 64UL << 10;
constexpr std::string_view kPathDefault =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

enum class Step : int { kNone, kSession, kTerminal, kDirectory, kStdio, kExecute };

// All that the child needs, prepared before it exists: it must not allocate.
struct Child {
  const SpawnPlan* plan;
  std::vector<const char*> candidates;
  std::vector<char*> argv;
  std::vector<char*> script_argv;  // "/bin/sh", the file, the arguments: for a file without "#!"
  std::vector<char*> env;
  Step failed_step = Step::kNone;
  int failed_errno = 0;
};

AT_NO_SANITIZE int give_up(Child& child, Step step) {
  child.failed_step = step;
  child.failed_errno = errno;
  _exit(127);
}

AT_NO_SANITIZE void reset_signals() {
  struct sigaction action;
  action.sa_handler = SIG_DFL;
  action.sa_flags = 0;
  sigemptyset(&action.sa_mask);
  for (int number = 1; number < NSIG; ++number) {
    if (number == SIGKILL || number == SIGSTOP) continue;
    // Those that the C library keeps for itself are refused, which is right.
    (void)sigaction(number, &action, nullptr);
  }
  (void)sigprocmask(SIG_SETMASK, &action.sa_mask, nullptr);
}

AT_NO_SANITIZE bool move_descriptor(int from, int to) {
  if (from != to) return dup2(from, to) >= 0;
  return fcntl(from, F_SETFD, 0) >= 0;
}

AT_NO_SANITIZE void execute(Child& child) {
  int remembered = ENOENT;
  for (std::size_t i = 0; i < child.candidates.size(); ++i) {
    execve(child.candidates[i], child.argv.data(), child.env.data());
    if (errno == ENOEXEC) {
      child.script_argv[1] = const_cast<char*>(child.candidates[i]);
      execve("/bin/sh", child.script_argv.data(), child.env.data());
      break;
    }
    if (errno == EACCES) remembered = EACCES;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
    if (i + 1 == child.candidates.size() && child.candidates.size() > 1) errno = remembered;
  }
  give_up(child, Step::kExecute);
}

AT_NO_SANITIZE int run_child(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  const SpawnPlan& plan = *child.plan;
  if (setsid() < 0) give_up(child, Step::kSession);
  reset_signals();
  for (const int group : plan.groups) (void)!write(group, "0", 1);
  if (plan.open_files_max != 0) {
    rlimit limit{};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = plan.open_files_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (plan.terminal == SpawnPlan::Terminal::kControlling &&
      ioctl(plan.stdin_fd, TIOCSCTTY, 0) < 0) {
    give_up(child, Step::kTerminal);
  }
  if (chdir(plan.cwd.c_str()) < 0) {
    const bool may_fall_back = errno == ENOENT && !plan.cwd_fallback.empty();
    if (!may_fall_back || chdir(plan.cwd_fallback.c_str()) < 0) give_up(child, Step::kDirectory);
  }
  if (!move_descriptor(plan.stdin_fd, 0) || !move_descriptor(plan.stdout_fd, 1) ||
      !move_descriptor(plan.stderr_fd, 2)) {
    give_up(child, Step::kStdio);
  }
  // Every descriptor of ours is close-on-exec; this is for those inherited from our own parent.
  (void)syscall(SYS_close_range, 3U, ~0U, 0U);
  execute(child);
  return 127;
}

std::string_view path_of(const std::vector<std::string>& env) {
  for (const std::string& variable : env) {
    if (variable.starts_with("PATH=")) return std::string_view(variable).substr(5);
  }
  return kPathDefault;
}

std::vector<std::string> candidate_files(const SpawnPlan& plan) {
  const std::string& name = plan.argv[0];
  if (name.find('/') != std::string::npos) return {name};
  std::vector<std::string> files;
  std::string_view path = path_of(plan.env);
  while (true) {
    const std::size_t colon = path.find(':');
    const std::string_view folder = path.substr(0, colon);
    files.push_back(folder.empty() ? name : std::string(folder) + "/" + name);
    if (colon == std::string_view::npos) return files;
    path.remove_prefix(colon + 1);
  }
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

base::Error explain(const SpawnPlan& plan, Step step, int error_number) {
  std::string subject;
  switch (step) {
    case Step::kNone:
      subject = "make a process";
      break;
    case Step::kSession:
      subject = "make a session";
      break;
    case Step::kTerminal:
      subject = "take the terminal";
      break;
    case Step::kDirectory:
      subject = "change directory to " + plan.cwd;
      break;
    case Step::kStdio:
      subject = "connect input and output";
      break;
    case Step::kExecute:
      subject = plan.argv[0];
      break;
  }
  std::string message = "start: " + subject + ": " + std::strerror(error_number);
  if (error_number == EAGAIN || error_number == ENOMEM) {
    base::Error error = base::unavailable(
        message + (error_number == EAGAIN ? " (the sandbox is at its limit of processes)" : ""));
    error.reason = "start_failed";
    return error;
  }
  const bool asked_wrongly = step == Step::kDirectory || step == Step::kExecute;
  base::Error error =
      asked_wrongly ? base::invalid(std::move(message)) : base::internal(std::move(message));
  error.reason = "start_failed";
  return error;
}

// The stack that a child runs on until it executes. One thread spawns, so one stack is enough.
void* child_stack_top() {
  static char* const stack = [] {
    void* made = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    return made == MAP_FAILED ? nullptr : static_cast<char*>(made);
  }();
  return stack == nullptr ? nullptr : stack + kStackBytes;
}

}  // namespace

base::Result<pid_t> spawn(const SpawnPlan& plan) {
  Child child;
  child.plan = &plan;
  const std::vector<std::string> files = candidate_files(plan);
  for (const std::string& file : files) child.candidates.push_back(file.c_str());
  child.argv = pointers(plan.argv);
  child.env = pointers(plan.env);
  char shell[] = "/bin/sh";
  child.script_argv = child.argv;
  child.script_argv.insert(child.script_argv.begin(), shell);

  void* const stack = child_stack_top();
  if (stack == nullptr) return explain(plan, Step::kNone, ENOMEM);
  // No handler of ours may run in the child while it shares our memory.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = clone(run_child, stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  const int clone_errno = errno;
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);

  if (pid < 0) return explain(plan, Step::kNone, clone_errno);
  if (child.failed_step == Step::kNone) return pid;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return explain(plan, child.failed_step, child.failed_errno);
}

}  // namespace agenttier::runtime
