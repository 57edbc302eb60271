"""What a program in a sandbox tries: the names are those of tests/probe, the table is docs/isolation.md.

Arguments in braces are filled in by the test: {marker} a file that only the host has,
{runtime} a process with more to lose: the runtime, or on the host one that the test started.
"""

FILE_SYSTEM = (
    "write_root", "write_usr", "write_dev", "write_sys", "write_passwd", "write_hosts", "write_runtime",
    "write_core_pattern", "write_panic", "mount_tmpfs", "mount_proc", "bind_root", "remount_root",
    "unmount_masks", "change_root", "make_char_device", "make_block_device", "write_release_agent",
    "raise_own_limits", "leave_by_dot_dot {marker}", "leave_by_working_directory {marker}",
    "leave_by_other_roots {marker}",
)
HOST_FACTS = (
    "open_sysrq", "read_kcore", "read_kallsyms", "read_keys", "read_timer_list", "read_interrupts",
    "read_kmsg", "read_dev_kmsg", "read_memory_device", "read_shadow", "read_sys_firmware", "read_slabs",
    "read_page_map", "read_disk",
)
PRIVILEGES = (
    "become_root", "become_root_group", "join_group", "take_capabilities", "unshare_user",
    "unshare_mounts", "unshare_network", "unshare_processes", "unshare_groups", "clone_user",
    "clone3_user", "join_namespace {runtime}", "trace_runtime {runtime}", "read_runtime_memory {runtime}", "read_runtime_environment {runtime}",
    "read_runtime_descriptors {runtime}", "copy_runtime_memory {runtime}", "evade_memory_killer",
    "blame_runtime_for_memory {runtime}", "raise_priority", "become_real_time", "raise_limit",
)
SYSTEM_CALLS = (
    "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup",
    "io_uring_enter", "io_uring_register", "open_by_handle_at", "kexec_load", "kexec_file_load",
    "init_module", "finit_module", "delete_module", "pivot_root", "fsopen", "fsmount", "move_mount",
    "open_tree", "mount_setattr", "setns", "pidfd_getfd", "kcmp", "fanotify_init", "acct", "quotactl",
    "swapon", "swapoff", "reboot", "sethostname", "setdomainname", "settimeofday", "clock_settime",
    "clock_adjtime", "syslog", "personality", "iopl", "ioperm", "modify_ldt", "call_as_32_bit",
    "call_as_x32",
)
SOCKETS = (
    "packet_socket", "raw_socket", "icmp_socket", "raw_socket_6", "vsock_socket", "crypto_socket",
    "netfilter_socket", "audit_socket", "uevent_socket", "reach_link_by_ipv6", "add_address 10.9.9.9 eth0",
)
ALL = FILE_SYSTEM + HOST_FACTS + PRIVILEGES + SYSTEM_CALLS + SOCKETS

# Attempts that root on the host is let do, so that a refusal in a sandbox is the sandbox's. The
# others change a host (its clock, its processes) or meet a kernel that lacks the thing.
WORK_ON_HOST = (
    "write_root", "write_usr", "write_dev", "write_passwd", "write_hosts", "write_core_pattern",
    "write_panic", "change_root", "leave_by_dot_dot {marker}",
    "leave_by_other_roots {marker}", "read_kallsyms", "read_keys", "read_timer_list", "read_interrupts",
    "read_shadow", "read_slabs", "read_disk",
    "become_root", "become_root_group", "join_group", "take_capabilities", "unshare_user",
    "unshare_mounts", "unshare_network", "unshare_processes", "clone_user", "clone3_user",
    "trace_runtime {runtime}", "read_runtime_memory {runtime}", "read_runtime_environment {runtime}", "read_runtime_descriptors {runtime}",
    "copy_runtime_memory {runtime}", "raise_priority", "raise_limit",
    "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup",
    "io_uring_enter", "io_uring_register", "open_by_handle_at", "pivot_root", "fsopen", "fsmount",
    "move_mount", "open_tree", "mount_setattr", "setns", "pidfd_getfd", "fanotify_init", "acct",
    "quotactl", "swapon", "reboot", "sethostname", "settimeofday", "clock_settime", "syslog",
    "personality", "modify_ldt",
    "packet_socket", "raw_socket", "icmp_socket", "netfilter_socket", "uevent_socket",
)

# gVisor's own kernel lets these through, and nothing on the machine follows: it keeps the two numbers
# to itself, and does not hide a process's descriptors from another of the same user and sandbox.
WITHOUT_EFFECT_IN_GVISOR = ("evade_memory_killer", "raise_priority",
                            "read_runtime_descriptors {runtime}")


def title(attempt):
    return f"{attempt.split()[0]}-is-refused"
