#include "runtime/oom_watch.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "runtime/small_file.h"

namespace agenttier::runtime {
namespace {

constexpr std::size_t kFileBytesMax = 4096;
constexpr std::string_view kCounter = "oom_kill ";

// With a cgroup namespace the own group is the root of the mount; without one it is at the path
// that /proc/self/cgroup gives.
std::vector<std::string> own_files() {
  std::vector<std::string> files = {"/sys/fs/cgroup/memory.events",
                                    "/sys/fs/cgroup/memory/memory.oom_control"};
  const std::string groups = read_small_file("/proc/self/cgroup", 64UL << 10);
  std::string_view left = groups;
  while (!left.empty()) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (path == "/") continue;
    if (controllers == "memory") {
      files.insert(files.begin(), "/sys/fs/cgroup/memory" + path + "/memory.oom_control");
    } else if (controllers.empty()) {
      files.insert(files.begin(), "/sys/fs/cgroup" + path + "/memory.events");
    }
  }
  return files;
}

}  // namespace

OomWatch::OomWatch() : OomWatch(own_files()) {}

OomWatch::OomWatch(std::vector<std::string> files) : files_(std::move(files)) {
  std::erase_if(files_, [](const std::string& file) {
    return read_small_file(file, kFileBytesMax).find(kCounter) == std::string::npos;
  });
  told_ = read_counter();
}

bool OomWatch::take_kill() {
  const std::uint64_t now = read_counter();
  if (now <= told_) return false;
  ++told_;
  return true;
}

std::uint64_t OomWatch::read_counter() const {
  if (files_.empty()) return 0;
  const std::string text = read_small_file(files_.front(), kFileBytesMax);
  const std::size_t at = text.find(kCounter);
  if (at == std::string::npos) return 0;
  std::uint64_t value = 0;
  (void)std::from_chars(text.data() + at + kCounter.size(), text.data() + text.size(), value);
  return value;
}

}  // namespace agenttier::runtime
