#include "node/preflight.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "node/oci_runtime.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/mount.h"
#include "os/process.h"
#include "os/quota.h"

namespace agenttier::node {

namespace {

constexpr std::uint64_t kFreeBytesWanted = 2ULL << 30U;

using Findings = std::vector<PreflightFinding>;

void fault(Findings& findings, std::string text) {
  findings.push_back({Weight::kFault, std::move(text)});
}
void advice(Findings& findings, std::string text) {
  findings.push_back({Weight::kAdvice, std::move(text)});
}

void check_programs(Findings& findings) {
  if (!OciRuntime::why_missing(RuntimeKind::kCrun).empty() &&
      !OciRuntime::why_missing(RuntimeKind::kRunc).empty()) {
    fault(findings, "neither crun nor runc is installed: apt-get install crun");
  }
  const std::pair<const char*, const char*> needed[] = {{"skopeo", "apt-get install skopeo"},
                                                        {"umoci", "apt-get install umoci"}};
  for (const auto& [program, remedy] : needed) {
    if (!os::find_program(program)) {
      fault(findings, std::string(program) + " is not installed: " + remedy);
    }
  }
  if (const std::string why = OciRuntime::why_missing(RuntimeKind::kGvisor); !why.empty()) {
    advice(findings, why + "; sandboxes with runtimeClass gvisor will not start");
  }
}

// Sandboxes have nothing but this file, so a program that needs libraries does not start in them.
bool is_static(const std::string& program) {
  const auto file = os::open_file(program, O_RDONLY);
  Elf64_Ehdr header;
  if (!file || ::pread(file->get(), &header, sizeof header, 0) != sizeof header) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    const auto at = static_cast<off_t>(header.e_phoff + i * sizeof part);
    if (::pread(file->get(), &part, sizeof part, at) != sizeof part) return false;
    if (part.p_type == PT_INTERP) return false;
  }
  return true;
}

void check_runtime_binary(const std::string& program, Findings& findings) {
  const std::string remedy =
      ": build it (cmake --preset runtime, then ninja -C build/runtime) and put it beside "
      "agenttier, or "
      "name it with --runtime-binary";
  if (!os::exists(program)) {
    fault(findings, "the sandbox runtime is not at " + program + remedy);
  } else if (os::is_directory(program) || ::access(program.c_str(), X_OK) != 0) {
    fault(findings,
          "the sandbox runtime " + program + " is not a program that can be run" + remedy);
  } else if (!is_static(program)) {
    fault(findings, "the sandbox runtime " + program +
                        " is not a static program, so it starts in no sandbox" + remedy);
  }
}

void check_cgroups(Findings& findings) {
  const auto cgroups = os::Cgroups::detect();
  if (!cgroups) {
    fault(findings, cgroups.error().message + ": mount them, for example with systemd");
    return;
  }
  for (const char* controller : {"memory", "cpu", "pids"}) {
    if (!cgroups->has(controller)) {
      fault(findings, std::string("the control group controller \"") + controller +
                          "\" is missing: enable it in the kernel's boot options");
    }
  }
}

// Tries what every container needs, where it will be needed.
void check_overlay(const NodePaths& paths, Findings& findings) {
  const std::string folder = paths.tmp() + "/preflight-" + std::to_string(::getpid());
  base::Status tried;
  for (const char* name : {"/lower", "/upper", "/work", "/merged"}) {
    if (tried) tried = os::make_directories(folder + name, 0700);
  }
  if (tried) {
    tried = os::mount_overlay(
        {folder + "/lower", folder + "/upper", folder + "/work", folder + "/merged"});
  }
  if (!tried) {
    fault(findings,
          "overlay mounts do not work in " + paths.state() + ": " + tried.error().message +
              ": put the state folder on ext4, xfs or btrfs, and load the overlay module");
  }
  (void)os::unmount_below(folder);
  (void)os::remove_tree(folder);
}

void check_disk(const NodePaths& paths, Findings& findings) {
  const auto usage = os::file_system_usage(paths.state());
  if (usage && usage->bytes_free < kFreeBytesWanted) {
    advice(findings, "only " + std::to_string(usage->bytes_free >> 20U) + " MiB are free below " +
                         paths.state() + ": images and volumes need room");
  }
  const std::string probe = paths.tmp() + "/quota-" + std::to_string(::getpid());
  if (!os::make_directories(probe, 0700)) return;
  const auto limited = os::set_tree_quota(probe, 1UL << 20U);
  if (!limited) advice(findings, "volume sizes are not enforced: " + limited.error().message);
  (void)os::clear_tree_quota(probe);
  (void)os::remove_tree(probe);
}

void check_network(Findings& findings) {
  if (!os::is_directory("/proc/sys/net/netfilter") && !os::find_program("nft")) {
    fault(findings, "nftables is not available: load the nf_tables kernel module");
  }
  const auto forward = os::read_file("/proc/sys/net/ipv4/ip_forward", 16);
  if (!forward || forward->empty() || (*forward)[0] != '1') {
    advice(findings, "net.ipv4.ip_forward is 0: it is switched on when the first sandbox starts");
  }
}

}  // namespace

std::vector<PreflightFinding> check_machine(const NodePaths& paths,
                                            const std::string& runtime_binary) {
  Findings findings;
  if (::geteuid() != 0) {
    fault(findings, "sandboxes need root: run agenttier up as root");
    return findings;
  }
  check_programs(findings);
  check_runtime_binary(runtime_binary, findings);
  check_cgroups(findings);
  if (const auto made = paths.make_folders(); !made) {
    fault(findings, "the state folder cannot be used: " + made.error().message);
    return findings;
  }
  check_overlay(paths, findings);
  check_disk(paths, findings);
  check_network(findings);
  return findings;
}

}  // namespace agenttier::node
