#include "node/leftovers.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "observe/log.h"
#include "os/file.h"
#include "os/mount.h"
#include "os/process.h"

namespace agenttier::node {

using base::Result;
using base::Status;

namespace {

constexpr std::size_t kCommandLineBytesMax = 256 * 1024;
constexpr int kEndTimeMaxMillis = 5000;

// Words of a command line are separated by NUL, so a whole word cannot be part of another.
bool has_word(const std::string& command_line, const std::string& word) {
  const std::string separated = std::string(1, '\0') + command_line;
  return separated.find(std::string(1, '\0') + word + std::string(1, '\0')) != std::string::npos;
}

bool starts_word(const std::string& command_line, const std::string& start) {
  const std::string separated = std::string(1, '\0') + command_line;
  return separated.find(start) != std::string::npos;
}

// Calls of the runtimes name their records' folder, those of skopeo and umoci the folder for
// half-done work. A container's own processes name neither.
bool is_leftover(const std::string& command_line, const NodePaths& paths) {
  const std::string program = command_line.substr(0, command_line.find('\0'));
  const std::string name = program.substr(program.find_last_of('/') + 1);
  if (name == "runc" || name == "crun" || name == "runsc") {
    return has_word(command_line, paths.runc()) || has_word(command_line, paths.crun()) ||
           has_word(command_line, paths.runsc());
  }
  if (name == "skopeo" || name == "umoci")
    return starts_word(command_line, paths.tmp() + "/image-");
  return false;
}

Status end_tools(const NodePaths& paths) {
  for (const std::string& entry : os::list_directory("/proc")) {
    if (!std::all_of(entry.begin(), entry.end(), [](unsigned char c) { return std::isdigit(c); })) {
      continue;
    }
    const pid_t pid = std::stoi(entry);
    if (pid == ::getpid()) continue;
    const auto pidfd = os::open_pidfd(pid);
    const auto command_line = os::read_file("/proc/" + entry + "/cmdline", kCommandLineBytesMax);
    if (!pidfd || !command_line || !is_leftover(*command_line, paths)) continue;
    observe::log_info("ending a call that an earlier agent left", {{"pid", pid}});
    (void)os::send_signal(pidfd->get(), SIGKILL);
    pollfd ended{.fd = pidfd->get(), .events = POLLIN, .revents = 0};
    (void)::poll(&ended, 1, kEndTimeMaxMillis);
  }
  return {};
}

void add_uids(std::set<std::string>& uids, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (check_uid(name)) uids.insert(name);
  }
}

}  // namespace

async::Task<Status> end_leftover_tools(const NodeParts& parts) {
  const NodePaths* paths = &parts.paths;
  co_return co_await parts.blocking.run([paths] { return end_tools(*paths); });
}

async::Task<Status> empty_tmp(const NodeParts& parts) {
  const std::string tmp = parts.paths.tmp();
  auto empty = [tmp]() -> Status {
    AT_OK(os::unmount_below(tmp));
    AT_OK(os::remove_tree(tmp));
    return os::make_directories(tmp, 0700);
  };
  co_return co_await parts.blocking.run(std::move(empty));
}

async::Task<Result<std::set<std::string>>> find_pod_uids(const NodeParts& parts) {
  const NodePaths* paths = &parts.paths;
  const os::Cgroups* cgroups = &parts.cgroups;
  auto look = [paths, cgroups] {
    std::set<std::string> uids;
    add_uids(uids, os::list_directory(paths->sandboxes()));
    add_uids(uids, cgroups->children(paths->cgroup_root()));
    return uids;
  };
  std::set<std::string> uids = co_await parts.blocking.run(std::move(look));
  for (OciRuntime* runtime : parts.runtimes.all()) {
    AT_CO_TRY(const std::vector<std::string> ids, co_await runtime->list());
    for (const std::string& id : ids) {
      const std::string uid = pod_uid_of(id);
      if (!uid.empty()) uids.insert(uid);
    }
  }
  co_return uids;
}

}  // namespace agenttier::node
