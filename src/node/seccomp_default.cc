#include "node/seccomp_default.h"

#include <boost/json/array.hpp>
#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <string>

namespace agenttier::node {

namespace json = boost::json;

namespace {

constexpr int kNoSystemCall = 38;  // ENOSYS
constexpr int kNotPermitted = 1;   // EPERM

#if defined(__x86_64__)
constexpr const char* kArchitecture = "SCMP_ARCH_X86_64";
#elif defined(__aarch64__)
constexpr const char* kArchitecture = "SCMP_ARCH_AARCH64";
#else
#error "the seccomp profile knows x86-64 and arm64"
#endif

constexpr const char* kFiles =
    "access chdir chmod chown chroot close close_range copy_file_range creat dup dup2 dup3 "
    "faccessat "
    "faccessat2 fadvise64 fallocate fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchownat "
    "fcntl fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstatfs fsync "
    "ftruncate "
    "futimesat getcwd getdents getdents64 getxattr getxattrat inotify_add_watch inotify_init "
    "inotify_init1 inotify_rm_watch ioctl lchown lgetxattr link linkat listxattr listxattrat "
    "llistxattr lremovexattr lseek lsetxattr lstat mkdir mkdirat mknod mknodat name_to_handle_at "
    "newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read "
    "readahead "
    "readlink readlinkat readv removexattr removexattrat rename renameat renameat2 rmdir sendfile "
    "setxattr setxattrat splice stat statfs statx symlink symlinkat sync sync_file_range syncfs "
    "tee "
    "truncate umask unlink unlinkat utime utimensat utimes vmsplice write writev";

constexpr const char* kEventsAndIo =
    "epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait "
    "epoll_wait_old eventfd eventfd2 io_cancel io_destroy io_getevents io_pgetevents io_setup "
    "io_submit pipe pipe2 poll ppoll pselect6 select signalfd signalfd4 timerfd_create "
    "timerfd_gettime timerfd_settime";

constexpr const char* kMemory =
    "brk cachestat madvise map_shadow_stack membarrier memfd_create memfd_secret mincore mlock "
    "mlock2 "
    "mlockall mmap mprotect mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free "
    "pkey_mprotect process_madvise process_mrelease remap_file_pages shmat shmctl shmdt shmget";

constexpr const char* kProcesses =
    "alarm arch_prctl capget capset execve execveat exit exit_group fork get_robust_list getcpu "
    "getegid geteuid getgid getgroups getitimer getpgid getpgrp getpid getppid getpriority "
    "getrandom "
    "getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get ioprio_set kill "
    "landlock_add_rule landlock_create_ruleset landlock_restrict_self pause pidfd_open "
    "pidfd_send_signal prctl prlimit64 process_vm_readv process_vm_writev ptrace restart_syscall "
    "rseq "
    "rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend "
    "rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min "
    "sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval "
    "sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp "
    "set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer "
    "setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid sigaltstack "
    "sysinfo tgkill time times tkill uname vfork wait4 waitid";

constexpr const char* kTimeAndLocks =
    "clock_getres clock_gettime clock_nanosleep futex futex_requeue futex_wait futex_waitv "
    "futex_wake gettimeofday mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend "
    "mq_unlink "
    "msgctl msgget msgrcv msgsnd nanosleep semctl semget semop semtimedop timer_create "
    "timer_delete "
    "timer_getoverrun timer_gettime timer_settime";

constexpr const char* kSockets =
    "accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg "
    "recvmsg "
    "sendmmsg sendmsg sendto setsockopt shutdown socketpair";

// Every flag of clone() that makes a namespace.
constexpr std::uint64_t kNamespaceFlags = 0x7E020000;

json::array words(const char* text) {
  json::array result;
  std::istringstream stream(text);
  std::string word;
  while (stream >> word) result.emplace_back(word);
  return result;
}

struct Condition {
  int index;
  std::uint64_t value;
  const char* comparison;
  std::uint64_t second_value = 0;
};

json::object rule(const char* names, const char* action,
                  std::initializer_list<Condition> conditions = {}, int error = 0) {
  json::object result;
  result["names"] = words(names);
  result["action"] = action;
  if (error != 0) result["errnoRet"] = error;
  json::array args;
  for (const Condition& condition : conditions) {
    args.push_back(json::object{{"index", condition.index},
                                {"value", condition.value},
                                {"valueTwo", condition.second_value},
                                {"op", condition.comparison}});
  }
  if (!args.empty()) result["args"] = std::move(args);
  return result;
}

void add_sockets(json::array& rules) {
  constexpr std::uint64_t kUnix = 1, kInternet = 2, kInternet6 = 10, kNetlink = 16, kRoute = 0;
  for (const std::uint64_t family : {kUnix, kInternet, kInternet6}) {
    rules.push_back(rule("socket", "SCMP_ACT_ALLOW", {{0, family, "SCMP_CMP_EQ"}}));
  }
  rules.push_back(
      rule("socket", "SCMP_ACT_ALLOW", {{0, kNetlink, "SCMP_CMP_EQ"}, {2, kRoute, "SCMP_CMP_EQ"}}));
}

// The few execution domains that ordinary programs ask for, and asking which one it is.
void add_personalities(json::array& rules) {
  for (const std::uint64_t domain : {0x0U, 0x8U, 0x20000U, 0x20008U, 0x40000U, 0xFFFFFFFFU}) {
    rules.push_back(rule("personality", "SCMP_ACT_ALLOW", {{0, domain, "SCMP_CMP_EQ"}}));
  }
}

}  // namespace

json::object default_seccomp_profile(SeccompEnforcer enforcer) {
  json::array rules;
  for (const char* names : {kFiles, kEventsAndIo, kMemory, kProcesses, kTimeAndLocks, kSockets}) {
    rules.push_back(rule(names, "SCMP_ACT_ALLOW"));
  }
  add_sockets(rules);
  add_personalities(rules);
  rules.push_back(rule("clone", "SCMP_ACT_ALLOW", {{0, kNamespaceFlags, "SCMP_CMP_MASKED_EQ", 0}}));
  rules.push_back(
      rule("io_uring_setup io_uring_enter io_uring_register", "SCMP_ACT_ERRNO", {}, kNoSystemCall));
  rules.push_back(enforcer == SeccompEnforcer::kKernel
                      ? rule("clone3", "SCMP_ACT_ERRNO", {}, kNoSystemCall)
                      : rule("clone3", "SCMP_ACT_ALLOW"));
  json::object profile;
  profile["defaultAction"] = "SCMP_ACT_ERRNO";
  profile["defaultErrnoRet"] = kNotPermitted;
  profile["architectures"] = json::array{kArchitecture};
  profile["syscalls"] = std::move(rules);
  return profile;
}

}  // namespace agenttier::node
