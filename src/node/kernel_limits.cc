#include "node/kernel_limits.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <sstream>

#include "os/file.h"

namespace agenttier::node {

using base::Status;

namespace {

constexpr std::uint64_t kNone = 0;  // of a setting for which 0 means that there is no limit
constexpr std::uint64_t kPlenty = 1U << 30U;

struct Setting {
  const char* path;
  std::uint64_t wanted;
  const char* counts;
};
constexpr Setting kSettings[] = {
    {"fs/inotify/max_user_instances", kPlenty, "file watchers"},
    {"fs/inotify/max_user_watches", kPlenty, "watched files"},
    {"fs/epoll/max_user_watches", kPlenty, "watched descriptors"},
    {"fs/pipe-user-pages-soft", kNone, "buffers of pipes"},
    {"kernel/pid_max", 1U << 22U, "process numbers"},
    {"kernel/threads-max", 1U << 20U, "threads"},
};

struct ProcessLimit {
  int resource;
  const char* name;
  const char* counts;
};
// Programs in sandboxes inherit those of the server.
constexpr ProcessLimit kProcessLimits[] = {
    {RLIMIT_SIGPENDING, "SIGPENDING", "pending signals and timers"},
    {RLIMIT_MSGQUEUE, "MSGQUEUE", "message queues"},
    {RLIMIT_NPROC, "NPROC", "processes"},
};

Status raise_setting(const std::string& path, std::uint64_t wanted) {
  AT_TRY(const std::string text, os::read_file(path, 64));
  std::uint64_t present = 0;
  if (!(std::istringstream(text) >> present)) return base::internal(path + " has no number");
  const bool enough = present == wanted || (wanted != kNone && present >= wanted);
  return enough ? Status() : os::write_existing(path, std::to_string(wanted));
}

Status raise_process_limit(int resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return base::from_errno("read the limit", errno);
  if (limit.rlim_cur == RLIM_INFINITY) return {};
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  if (::setrlimit(resource, &none) != 0) return base::from_errno("raise the limit", errno);
  return {};
}

std::string shared(const std::string& counts, const std::string& remedy, const std::string& why) {
  return "sandboxes share one limit of " + counts +
         ", so that one can use up what others need: " + remedy + " (" + why + ")";
}

}  // namespace

std::vector<std::string> raise_kernel_limits(const std::string& settings) {
  std::vector<std::string> left;
  for (const Setting& setting : kSettings) {
    const Status raised = raise_setting(settings + "/" + setting.path, setting.wanted);
    // A kernel without the thing has no limit of it.
    if (raised || raised.error().code == base::ErrorCode::kNotFound) continue;
    left.push_back(shared(setting.counts,
                          "set " + std::string(setting.path) + " to " +
                              std::to_string(setting.wanted) + " with sysctl",
                          raised.error().message));
  }
  for (const ProcessLimit& limit : kProcessLimits) {
    const Status raised = raise_process_limit(limit.resource);
    if (raised) continue;
    left.push_back(shared(limit.counts,
                          "give agenttier up the capability CAP_SYS_RESOURCE, or set Limit" +
                              std::string(limit.name) + "=infinity in its unit",
                          raised.error().message));
  }
  return left;
}

}  // namespace agenttier::node
