// Ways to more rights than the sandbox's user has.

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "probe.h"

namespace probe {
namespace {

Outcome become_root(Arguments arguments) {
  return in_child([](Arguments) { return outcome_of(setresuid(0, 0, 0)); }, arguments);
}

Outcome become_root_group(Arguments arguments) {
  return in_child([](Arguments) { return outcome_of(setresgid(0, 0, 0)); }, arguments);
}

Outcome join_group(Arguments arguments) {
  return in_child(
      [](Arguments) {
        const gid_t disk = 6;
        return outcome_of(setgroups(1, &disk));
      },
      arguments);
}

Outcome take_capabilities(Arguments arguments) {
  return in_child(
      [](Arguments) {
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct data[2] = {{1U << CAP_SYS_ADMIN, 1U << CAP_SYS_ADMIN, 0}, {0, 0, 0}};
        return outcome_of(syscall(SYS_capset, &header, data));
      },
      arguments);
}

// Executed as a file that belongs to root and has the set-user-id bit.
Outcome effective_user(Arguments) {
  if (geteuid() == 0) return done();
  return refused("still uid " + std::to_string(geteuid()));
}

Outcome unshare_kind(int flags, Arguments arguments) {
  static int wanted;
  wanted = flags;
  return in_child([](Arguments) { return outcome_of(unshare(wanted)); }, arguments);
}

Outcome unshare_user(Arguments a) {
  return unshare_kind(CLONE_NEWUSER, a);
}
Outcome unshare_mounts(Arguments a) {
  return unshare_kind(CLONE_NEWNS, a);
}
Outcome unshare_network(Arguments a) {
  return unshare_kind(CLONE_NEWNET, a);
}
Outcome unshare_processes(Arguments a) {
  return unshare_kind(CLONE_NEWPID, a);
}
Outcome unshare_groups(Arguments a) {
  return unshare_kind(CLONE_NEWCGROUP, a);
}

Outcome clone_user(Arguments) {
  const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (child == 0) _exit(0);
  const Outcome outcome = outcome_of(child);
  if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
  return outcome;
}

Outcome clone3_user(Arguments) {
  clone_args arguments{};
  arguments.flags = CLONE_NEWUSER;
  arguments.exit_signal = SIGCHLD;
  const long child = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child == 0) _exit(0);
  const Outcome outcome = outcome_of(child);
  if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
  return outcome;
}

// The process that is attacked: in a sandbox its runtime, which is 1.
std::string folder_of(Arguments arguments) {
  return "/proc/" + arguments[0];
}
pid_t pid_of(Arguments arguments) {
  return std::atoi(arguments[0].c_str());
}

// The namespaces of another process, which need not be another's.
Outcome join_namespace(Arguments arguments) {
  return in_child(
      [](Arguments words) {
        const int fd = open((folder_of(words) + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0) return refused("open: " + errno_name(errno));
        return outcome_of(setns(fd, CLONE_NEWNS));
      },
      arguments);
}

Outcome trace_runtime(Arguments arguments) {
  const pid_t runtime = pid_of(arguments);
  const long result = ptrace(PTRACE_SEIZE, runtime, nullptr, nullptr);
  return outcome_of(result);  // the tracer's end lets go of it
}

Outcome read_runtime_memory(Arguments arguments) {
  return try_open(folder_of(arguments) + "/mem", O_RDWR);
}

Outcome read_runtime_environment(Arguments arguments) {
  const std::string text = read_text(folder_of(arguments) + "/environ");
  if (text.empty()) return refused(errno_name(errno));
  return text.find("AGENTTIER_RUNTIME_TOKEN") != std::string::npos ? done() : refused("wiped");
}

Outcome read_runtime_descriptors(Arguments arguments) {
  // The first three are nothing and the sandbox's own log.
  Outcome last = refused("none");
  for (int fd = 3; fd < 64; ++fd) {
    last = try_open(folder_of(arguments) + "/fd/" + std::to_string(fd), O_RDONLY);
    if (last.kind == Outcome::Kind::kDone) return done(std::to_string(fd));
  }
  return last;
}

Outcome copy_runtime_memory(Arguments arguments) {
  // Whether the call is let through is asked first of all, so the address need not be right.
  char byte = 0;
  iovec local{&byte, 1};
  iovec remote{reinterpret_cast<void*>(0x1000), 1};
  if (process_vm_readv(pid_of(arguments), &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT)
    return done();
  return refused(errno_name(errno));
}

Outcome write_number(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return refused(errno_name(errno));
  const Outcome outcome = outcome_of(write(fd, text.data(), text.size()));
  close(fd);
  return outcome;
}

// A process that the kernel spares when memory is short leaves others to die.
Outcome evade_memory_killer(Arguments arguments) {
  return in_child([](Arguments) { return write_number("/proc/self/oom_score_adj", "-900"); },
                  arguments);
}

Outcome blame_runtime_for_memory(Arguments arguments) {
  return try_open(folder_of(arguments) + "/oom_score_adj", O_WRONLY);
}

Outcome raise_priority(Arguments arguments) {
  return in_child([](Arguments) { return outcome_of(setpriority(PRIO_PROCESS, 0, -20)); },
                  arguments);
}

Outcome become_real_time(Arguments arguments) {
  return in_child(
      [](Arguments) {
        const sched_param parameters{.sched_priority = 50};
        return outcome_of(sched_setscheduler(0, SCHED_FIFO, &parameters));
      },
      arguments);
}

Outcome raise_limit(Arguments arguments) {
  return in_child(
      [](Arguments) {
        rlimit limit{};
        getrlimit(RLIMIT_CORE, &limit);
        if (limit.rlim_max == RLIM_INFINITY) return done("there is no limit");
        limit.rlim_max = RLIM_INFINITY;
        return outcome_of(setrlimit(RLIMIT_CORE, &limit));
      },
      arguments);
}

}  // namespace

std::vector<Entry> privilege_entries() {
  return {{"become_root", become_root},
          {"become_root_group", become_root_group},
          {"join_group", join_group},
          {"take_capabilities", take_capabilities},
          {"effective_user", effective_user},
          {"unshare_user", unshare_user},
          {"unshare_mounts", unshare_mounts},
          {"unshare_network", unshare_network},
          {"unshare_processes", unshare_processes},
          {"unshare_groups", unshare_groups},
          {"clone_user", clone_user},
          {"clone3_user", clone3_user},
          {"join_namespace", join_namespace},
          {"trace_runtime", trace_runtime},
          {"read_runtime_memory", read_runtime_memory},
          {"read_runtime_environment", read_runtime_environment},
          {"read_runtime_descriptors", read_runtime_descriptors},
          {"copy_runtime_memory", copy_runtime_memory},
          {"evade_memory_killer", evade_memory_killer},
          {"blame_runtime_for_memory", blame_runtime_for_memory},
          {"raise_priority", raise_priority},
          {"become_real_time", become_real_time},
          {"raise_limit", raise_limit}};
}

}  // namespace probe
