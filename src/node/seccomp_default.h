#pragma once
// The system calls that a container may make: an allow list, so that what the kernel gains tomorrow
// is refused until someone decides.
//
// Allowed is what programs need: files, memory, processes, threads, signals, time, sockets of the
// local, internet and route-netlink families, ptrace of own processes. Refused are mounts, modules,
// keys, bpf, perf, namespaces, userfaultfd, io_uring, kexec, handles, swap, clocks. Refused calls
// fail with EPERM; clone3 and io_uring fail with ENOSYS, which makes libraries use what is allowed.
// Only the machine's own architecture is allowed: 32-bit calls end the process.

#include <boost/json/object.hpp>

namespace agenttier::node {

// The value of linux.seccomp in an OCI configuration.
boost::json::object default_seccomp_profile();

}  // namespace agenttier::node
