// System calls that the filter must stop before the kernel looks at them.
//
// Each is made with arguments that no kernel accepts, so that none does harm where it is let
// through: then the kernel complains of the arguments ("done", for the call got that far). EPERM,
// EACCES and ENOSYS mean that it did not.

#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

namespace probe {
namespace {

constexpr long kNoDescriptor = -1;
// An address that is mapped in no process.
constexpr long kNowhere = 16;

Outcome let_through(long result) {
  if (result >= 0) return done();
  if (errno == EPERM || errno == EACCES || errno == ENOSYS) return refused(errno_name(errno));
  return done("the kernel looked at it: " + errno_name(errno));
}

template <long number, long... arguments>
Outcome call(Arguments) {
  return let_through(syscall(number, arguments...));
}

Outcome open_user_faults(Arguments) {
  const long fd = syscall(SYS_userfaultfd, 0);
  if (fd >= 0) close(static_cast<int>(fd));
  return outcome_of(fd);
}

Outcome change_personality(Arguments arguments) {
  return in_child([](Arguments) { return outcome_of(personality(ADDR_COMPAT_LAYOUT)); }, arguments);
}

Outcome open_perf_event(Arguments) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  const long fd = syscall(SYS_perf_event_open, &attributes, -1, 0, -1, 0);  // of the whole machine
  if (fd >= 0) close(static_cast<int>(fd));
  return outcome_of(fd);
}

template <int family, int type, int protocol>
Outcome open_socket(Arguments) {
  const int fd = socket(family, type | SOCK_CLOEXEC, protocol);
  if (fd >= 0) close(fd);
  return outcome_of(fd);
}

#if defined(__x86_64__)
// getpid() as a 32-bit program calls it, past a filter that knows 64-bit numbers alone.
Outcome call_as_32_bit(Arguments arguments) {
  return in_child(
      [](Arguments) {
        long result = 20;
        asm volatile("int $0x80" : "+a"(result) : : "memory");
        if (result == -ENOSYS || result == -EPERM)
          return refused(errno_name(static_cast<int>(-result)));
        return result > 0 ? done() : refused(errno_name(static_cast<int>(-result)));
      },
      arguments);
}

Outcome call_as_x32(Arguments arguments) {
  return in_child([](Arguments) { return outcome_of(syscall(0x40000000 + SYS_getpid)); },
                  arguments);
}
#endif

}  // namespace

std::vector<Entry> system_call_entries() {
  std::vector<Entry> entries = {
      {"keyctl", call<SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1>},
      {"add_key", call<SYS_add_key, kNowhere, kNowhere, 0, 0, KEY_SPEC_SESSION_KEYRING>},
      {"request_key", call<SYS_request_key, kNowhere, kNowhere, 0, 0>},
      {"bpf", call<SYS_bpf, 0, kNowhere, 0>},
      {"perf_event_open", open_perf_event},
      {"userfaultfd", open_user_faults},
      {"io_uring_setup", call<SYS_io_uring_setup, 1, kNowhere>},
      {"io_uring_enter", call<SYS_io_uring_enter, kNoDescriptor, 0, 0, 0, 0, 0>},
      {"io_uring_register", call<SYS_io_uring_register, kNoDescriptor, 0, 0, 0>},
      {"open_by_handle_at", call<SYS_open_by_handle_at, kNoDescriptor, kNowhere, 0>},
      {"kexec_load", call<SYS_kexec_load, 0, 1000000, 0, 0>},
      {"kexec_file_load", call<SYS_kexec_file_load, kNoDescriptor, kNoDescriptor, 0, 0, 0>},
      {"init_module", call<SYS_init_module, kNowhere, 1, kNowhere>},
      {"finit_module", call<SYS_finit_module, kNoDescriptor, kNowhere, 0>},
      {"delete_module", call<SYS_delete_module, kNowhere, 0>},
      {"pivot_root", call<SYS_pivot_root, kNowhere, kNowhere>},
      {"fsopen", call<SYS_fsopen, kNowhere, 0>},
      {"fsmount", call<SYS_fsmount, kNoDescriptor, 0, 0>},
      {"move_mount", call<SYS_move_mount, kNoDescriptor, kNowhere, kNoDescriptor, kNowhere, 0>},
      {"open_tree", call<SYS_open_tree, kNoDescriptor, kNowhere, 1>},
      {"mount_setattr", call<SYS_mount_setattr, kNoDescriptor, kNowhere, 0, kNowhere, 32>},
      {"setns", call<SYS_setns, kNoDescriptor, 0>},
      {"pidfd_getfd", call<SYS_pidfd_getfd, kNoDescriptor, 0, 0>},
      {"kcmp", call<SYS_kcmp, 1, 1, 99, 0, 0>},
      {"fanotify_init", call<SYS_fanotify_init, 0x7FFFFFFF, 0>},
      {"acct", call<SYS_acct, kNowhere>},
      {"quotactl", call<SYS_quotactl, 0x7FFFFFFF, kNowhere, 0, 0>},
      {"swapon", call<SYS_swapon, kNowhere, 0>},
      {"swapoff", call<SYS_swapoff, kNowhere>},
      {"reboot", call<SYS_reboot, 1, 1, 1, 0>},
      {"sethostname", call<SYS_sethostname, kNowhere, 8>},
      {"setdomainname", call<SYS_setdomainname, kNowhere, 8>},
      {"settimeofday", call<SYS_settimeofday, kNowhere, 0>},
      {"clock_settime", call<SYS_clock_settime, 0, kNowhere>},
      {"clock_adjtime", call<SYS_clock_adjtime, 0, kNowhere>},
      {"syslog", call<SYS_syslog, 3, kNowhere, 0>},
      {"personality", change_personality},
      {"packet_socket", open_socket<AF_PACKET, SOCK_RAW, 0>},
      {"raw_socket", open_socket<AF_INET, SOCK_RAW, 255>},
      {"icmp_socket", open_socket<AF_INET, SOCK_RAW, 1>},
      {"raw_socket_6", open_socket<AF_INET6, SOCK_RAW, 255>},
      {"vsock_socket", open_socket<AF_VSOCK, SOCK_STREAM, 0>},
      {"crypto_socket", open_socket<AF_ALG, SOCK_SEQPACKET, 0>},
      {"netfilter_socket", open_socket<AF_NETLINK, SOCK_RAW, 12>},
      {"audit_socket", open_socket<AF_NETLINK, SOCK_RAW, 9>},
      {"uevent_socket", open_socket<AF_NETLINK, SOCK_RAW, 15>}};
#if defined(__x86_64__)
  entries.push_back({"iopl", call<SYS_iopl, 9>});
  entries.push_back({"ioperm", call<SYS_ioperm, kNoDescriptor, 1, 1>});
  entries.push_back({"modify_ldt", call<SYS_modify_ldt, 0, 0, 0>});
  entries.push_back({"call_as_32_bit", call_as_32_bit});
  entries.push_back({"call_as_x32", call_as_x32});
#endif
  return entries;
}

}  // namespace probe
