#include "runtime/process_tree.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <utility>

#include "runtime/small_file.h"

namespace agenttier::runtime {
namespace {

template <class Number>
bool next_number(std::string_view& text, Number& number) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool is_alive(const ProcessEntry& entry) {
  return entry.state != 'Z' && entry.state != 'X';
}

std::vector<ProcessEntry> below(const std::vector<ProcessEntry>& all, pid_t root) {
  std::multimap<pid_t, const ProcessEntry*> children;
  for (const ProcessEntry& entry : all) children.emplace(entry.parent, &entry);
  std::vector<ProcessEntry> found;
  std::vector<pid_t> open = {root};
  // Process 0 stands for what entered pid 1's namespace from outside.
  if (root == 1) open.push_back(0);
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto it = first; it != last; ++it) {
      if (it->second->pid == root) continue;
      found.push_back(*it->second);
      open.push_back(it->second->pid);
    }
  }
  return found;
}

}  // namespace

ProcessEntry parse_stat(std::string_view text) {
  ProcessEntry entry;
  pid_t pid = 0;
  if (!next_number(text, pid)) return {};
  // The name is in parentheses and may contain anything, so look for the last one.
  const std::size_t close = text.rfind(')');
  if (close == std::string_view::npos || close + 3 > text.size()) return {};
  entry.state = text[close + 2];
  text.remove_prefix(close + 3);
  // From field 4 (the parent) to field 22 (the start time), as proc(5) numbers them.
  std::array<std::int64_t, 19> fields;
  for (std::int64_t& field : fields) {
    if (!next_number(text, field)) return {};
  }
  const auto field = [&](std::size_t number) { return fields[number - 4]; };
  entry.parent = static_cast<pid_t>(field(4));
  entry.session = static_cast<pid_t>(field(6));
  entry.cpu_ticks = static_cast<std::uint64_t>(field(14) + field(15) + field(16) + field(17));
  entry.start_ticks = static_cast<std::uint64_t>(field(22));
  entry.pid = pid;
  return entry;
}

std::vector<ProcessEntry> read_processes() {
  std::vector<ProcessEntry> all;
  DIR* const folder = opendir("/proc");
  if (folder == nullptr) return all;
  while (const dirent* name = readdir(folder)) {
    if (name->d_name[0] < '1' || name->d_name[0] > '9') continue;
    const ProcessEntry entry =
        parse_stat(read_small_file("/proc/" + std::string(name->d_name) + "/stat", 2048));
    if (entry.pid > 0) all.push_back(entry);
  }
  closedir(folder);
  return all;
}

Kin::Kin(pid_t root, std::string mark)
    : sessions_{root}, mark_(std::string(kMarkVariable) + "=" + std::move(mark)) {}

std::vector<pid_t> Kin::find() {
  const std::vector<ProcessEntry> all = read_processes();
  add_marked(all);
  std::size_t before = 0;
  do {  // a parent may be listed after its child: repeat until nothing is added
    before = members_.size();
    add_related(all);
  } while (members_.size() != before);

  std::vector<pid_t> alive;
  sessions_.clear();  // a session without members may be another's by the next round
  for (const ProcessEntry& entry : all) {
    if (!members_.contains({entry.pid, entry.start_ticks}) || !is_alive(entry)) continue;
    alive.push_back(entry.pid);
    if (entry.session > 1) sessions_.insert(entry.session);
  }
  return alive;
}

void Kin::add_related(const std::vector<ProcessEntry>& all) {
  std::set<pid_t> parents;
  for (const ProcessEntry& entry : all) {
    if (members_.contains({entry.pid, entry.start_ticks})) parents.insert(entry.pid);
  }
  for (const ProcessEntry& entry : all) {
    if (entry.pid == getpid()) continue;
    if (parents.contains(entry.parent) || sessions_.contains(entry.session)) {
      members_.emplace(entry.pid, entry.start_ticks);
    }
  }
}

// An orphan is a child of this program; what descends from one is found by its parents.
void Kin::add_marked(const std::vector<ProcessEntry>& all) {
  for (const ProcessEntry& entry : all) {
    if (entry.parent != getpid() || !is_alive(entry)) continue;
    if (members_.contains({entry.pid, entry.start_ticks})) continue;
    const std::string path = "/proc/" + std::to_string(entry.pid) + "/environ";
    const std::string environment = read_small_file(path, 2UL << 20);
    std::size_t at = environment.find(mark_);
    if (at == std::string::npos) continue;
    if (at == 0 || environment[at - 1] == '\0') members_.emplace(entry.pid, entry.start_ticks);
  }
}

std::vector<pid_t> find_own_descendants() {
  std::vector<pid_t> alive;
  for (const ProcessEntry& entry : below(read_processes(), getpid())) {
    if (is_alive(entry)) alive.push_back(entry.pid);
  }
  return alive;
}

std::chrono::milliseconds descendants_cpu() {
  std::uint64_t ticks = 0;
  for (const ProcessEntry& entry : below(read_processes(), getpid())) ticks += entry.cpu_ticks;
  rusage ended{};
  (void)getrusage(RUSAGE_CHILDREN, &ended);
  const auto micros = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  const auto ticks_per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  const auto live = std::chrono::milliseconds(ticks * 1000 / ticks_per_second);
  return live + std::chrono::duration_cast<std::chrono::milliseconds>(micros(ended.ru_utime) +
                                                                      micros(ended.ru_stime));
}

}  // namespace agenttier::runtime
