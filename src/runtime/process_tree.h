#pragma once
// What /proc says about the processes of this sandbox, at one moment.
//
// A process that is killed takes its kin with it: its session, its descendants, and those that left
// both but still carry its mark, an environment variable set by the runtime. A program that wants
// to hide can remove the mark; it still cannot outlive the sandbox.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agenttier::runtime {

inline constexpr std::string_view kMarkVariable = "AGENTTIER_PROCESS_ID";

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = 0;                 // as in /proc/<pid>/stat
  std::uint64_t start_ticks = 0;  // with the pid, an identity
  std::uint64_t cpu_ticks = 0;    // its own and that of the children it waited for
};

// Parses the content of /proc/<pid>/stat; a pid of 0 means that it was not understood.
ProcessEntry parse_stat(std::string_view text);

// Every process of the pid namespace, in no order; empty if /proc is not there.
std::vector<ProcessEntry> read_processes();

// The kin of one process that leads a session, remembered across rounds, so that those whose
// parents died are found again. Make it while the process lives.
class Kin {
 public:
  Kin(pid_t root, std::string mark);
  // Those alive now (zombies excluded), never this program itself.
  std::vector<pid_t> find();

 private:
  void add_marked(const std::vector<ProcessEntry>& all);
  void add_related(const std::vector<ProcessEntry>& all);

  std::set<pid_t> sessions_;
  std::string mark_;
  std::set<std::pair<pid_t, std::uint64_t>> members_;
};

// Every process below this one, zombies excluded; as pid 1 those that were put in from outside too.
std::vector<pid_t> find_own_descendants();

// CPU time so far of all processes below this one, those that ended included, itself excluded.
std::chrono::milliseconds descendants_cpu();

}  // namespace agenttier::runtime
