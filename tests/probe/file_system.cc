// Files that a sandbox must not change, and files of the kernel that it must not read.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>

#include "probe.h"

namespace probe {
namespace {

// Makes a file and removes it again.
Outcome make_file(const std::string& path) {
  const int fd = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return refused(errno_name(errno));
  close(fd);
  unlink(path.c_str());
  return done();
}

Outcome write_root(Arguments) {
  return make_file("/agenttier-probe");
}
Outcome write_usr(Arguments) {
  return make_file("/usr/agenttier-probe");
}
Outcome write_dev(Arguments) {
  return make_file("/dev/agenttier-probe");
}
Outcome write_sys(Arguments) {
  return try_open("/sys/kernel/profiling", O_WRONLY);
}
Outcome write_passwd(Arguments) {
  return try_open("/etc/passwd", O_WRONLY | O_APPEND);
}
Outcome write_hosts(Arguments) {
  return try_open("/etc/hosts", O_WRONLY | O_APPEND);
}
Outcome write_runtime(Arguments) {
  return try_open("/.agenttier/runtime", O_WRONLY);
}
Outcome write_core_pattern(Arguments) {
  return try_open("/proc/sys/kernel/core_pattern", O_WRONLY);
}
Outcome write_panic(Arguments) {
  return try_open("/proc/sys/kernel/panic", O_WRONLY);
}
Outcome open_sysrq(Arguments) {
  return try_open("/proc/sysrq-trigger", O_WRONLY);
}

// A masked file is a bind of /dev/null: it opens and gives nothing.
Outcome read_some(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return refused(errno_name(errno));
  char buffer[64];
  const ssize_t count = read(fd, buffer, sizeof buffer);
  const int number = errno;
  close(fd);
  if (count < 0) return refused(errno_name(number));
  return count > 0 ? done() : refused("empty");
}

Outcome read_kcore(Arguments) {
  return read_some("/proc/kcore");
}
Outcome read_keys(Arguments) {
  return read_some("/proc/keys");
}
Outcome read_timer_list(Arguments) {
  return read_some("/proc/timer_list");
}
Outcome read_interrupts(Arguments) {
  return read_some("/proc/interrupts");
}
Outcome read_kmsg(Arguments) {
  return read_some("/proc/kmsg");
}
Outcome read_dev_kmsg(Arguments) {
  return read_some("/dev/kmsg");
}
Outcome read_memory_device(Arguments) {
  return try_open("/dev/mem", O_RDONLY);
}
Outcome read_shadow(Arguments) {
  return read_some("/etc/shadow");
}
Outcome read_sys_firmware(Arguments) {
  return try_open("/sys/firmware/memmap", O_RDONLY);
}
Outcome read_slabs(Arguments) {
  return read_some("/proc/slabinfo");
}
Outcome read_page_map(Arguments) {
  return read_some("/proc/kpagecount");
}

// Addresses read as zeros for those who may not know them.
Outcome read_kallsyms(Arguments) {
  const std::string text = read_text("/proc/kallsyms", 4096);
  if (text.empty()) return refused("empty");
  for (const char c : text.substr(0, text.find(' '))) {
    if (c != '0') return done();
  }
  return refused("addresses read as zero");
}

// A disk of the machine, by whatever name it has.
Outcome read_disk(Arguments) {
  for (const char* name : {"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/loop0"}) {
    if (open(name, O_RDONLY | O_CLOEXEC) >= 0) return done(name);
  }
  return refused(errno_name(errno));
}

Outcome make_device(const std::string& path, mode_t type, dev_t device) {
  if (mknod(path.c_str(), type | 0666, device) < 0) return refused(errno_name(errno));
  const Outcome opened = try_open(path, O_RDONLY);
  unlink(path.c_str());
  return opened;
}

Outcome make_char_device(Arguments) {
  return make_device("/tmp/agenttier-probe-c", S_IFCHR, makedev(1, 1));
}
Outcome make_block_device(Arguments) {
  return make_device("/tmp/agenttier-probe-b", S_IFBLK, makedev(7, 0));
}

// Opens the device node at the path given, which the host put there.
Outcome open_planted_device(Arguments arguments) {
  return try_open(arguments[0], O_RDONLY);
}

Outcome mount_tmpfs(Arguments) {
  if (mount("none", "/mnt", "tmpfs", 0, nullptr) < 0) return refused(errno_name(errno));
  umount2("/mnt", MNT_DETACH);
  return done();
}

Outcome mount_proc(Arguments) {
  if (mount("none", "/mnt", "proc", 0, nullptr) < 0) return refused(errno_name(errno));
  umount2("/mnt", MNT_DETACH);
  return done();
}

Outcome bind_root(Arguments) {
  if (mount("/", "/mnt", nullptr, MS_BIND, nullptr) < 0) return refused(errno_name(errno));
  umount2("/mnt", MNT_DETACH);
  return done();
}

Outcome remount_root(Arguments) {
  return outcome_of(mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND, nullptr));
}

Outcome unmount_masks(Arguments) {
  return outcome_of(umount2("/proc/kcore", MNT_DETACH));
}

Outcome change_root(Arguments arguments) {
  return in_child([](Arguments) { return outcome_of(chroot("/tmp")); }, arguments);
}

// The classic way out of a changed root, and what it would find there.
Outcome leave_by_dot_dot(Arguments arguments) {
  std::string up = "/proc/self/root";
  for (int i = 0; i < 32; ++i) up += "/..";
  return try_open(up + arguments[0], O_RDONLY | O_DIRECTORY);
}

Outcome leave_by_working_directory(Arguments arguments) {
  for (int fd = 3; fd < 256; ++fd) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    if (access((path + "/.." + arguments[0]).c_str(), F_OK) == 0) return done(path);
  }
  return refused("no descriptor leads out");
}

Outcome leave_by_other_roots(Arguments arguments) {
  for (int pid = 1; pid < 400; ++pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/root" + arguments[0];
    if (access(path.c_str(), F_OK) == 0) return done(path);
  }
  return refused("no process's root shows it");
}

// Control groups: the file by which version 1 runs a program on the host.
Outcome write_release_agent(Arguments) {
  Outcome last = refused("ENOENT");
  for (const char* tree : {"memory", "pids", "cpu", "freezer", "devices", "systemd", "unified"}) {
    const std::string path = std::string("/sys/fs/cgroup/") + tree + "/release_agent";
    last = try_open(path, O_WRONLY);
    if (last.kind == Outcome::Kind::kDone) return last;
  }
  return last;
}

Outcome raise_own_limits(Arguments) {
  Outcome last = refused("ENOENT");
  for (const char* file : {"pids/pids.max", "memory/memory.limit_in_bytes", "cpu/cpu.shares",
                           "pids.max", "memory.max", "pids/cgroup.procs", "cgroup.procs"}) {
    last = try_open(std::string("/sys/fs/cgroup/") + file, O_WRONLY);
    if (last.kind == Outcome::Kind::kDone) return last;
  }
  return last;
}

}  // namespace

std::vector<Entry> file_system_entries() {
  return {{"write_root", write_root},
          {"write_usr", write_usr},
          {"write_dev", write_dev},
          {"write_sys", write_sys},
          {"write_passwd", write_passwd},
          {"write_hosts", write_hosts},
          {"write_runtime", write_runtime},
          {"write_core_pattern", write_core_pattern},
          {"write_panic", write_panic},
          {"open_sysrq", open_sysrq},
          {"read_kcore", read_kcore},
          {"read_kallsyms", read_kallsyms},
          {"read_keys", read_keys},
          {"read_timer_list", read_timer_list},
          {"read_interrupts", read_interrupts},
          {"read_kmsg", read_kmsg},
          {"read_dev_kmsg", read_dev_kmsg},
          {"read_memory_device", read_memory_device},
          {"read_shadow", read_shadow},
          {"read_sys_firmware", read_sys_firmware},
          {"read_slabs", read_slabs},
          {"read_page_map", read_page_map},
          {"read_disk", read_disk},
          {"make_char_device", make_char_device},
          {"make_block_device", make_block_device},
          {"open_planted_device", open_planted_device},
          {"mount_tmpfs", mount_tmpfs},
          {"mount_proc", mount_proc},
          {"bind_root", bind_root},
          {"remount_root", remount_root},
          {"unmount_masks", unmount_masks},
          {"change_root", change_root},
          {"leave_by_dot_dot", leave_by_dot_dot},
          {"leave_by_working_directory", leave_by_working_directory},
          {"leave_by_other_roots", leave_by_other_roots},
          {"write_release_agent", write_release_agent},
          {"raise_own_limits", raise_own_limits}};
}

}  // namespace probe
