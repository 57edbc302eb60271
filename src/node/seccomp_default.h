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
#include <cstdint>

namespace agenttier::node {

// gVisor enforces the profile within its own kernel. Its releases before 2023 answer every refused
// call with EPERM, and libraries that get that from clone3 make no threads: so clone3 goes through
// to gVisor, which does not know it in those releases and gives ENOSYS itself.
enum class SeccompEnforcer : std::uint8_t { kKernel, kGvisor };

// The value of linux.seccomp in an OCI configuration.
boost::json::object default_seccomp_profile(SeccompEnforcer enforcer);

}  // namespace agenttier::node
