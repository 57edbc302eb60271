#pragma once
// Control groups, whichever way the machine has them: version 1 (a tree per controller), version 2
// (one tree), or hybrid (version 1 controllers beside an empty version 2 tree).
//
// A group is named by one path below every tree ("/agenttier-1a2b/pod-x/sandbox"); runc makes it,
// this reads its usage, kills what is in it and removes it. A controller the machine lacks reads as
// nothing. Missing groups are empty and already removed.
//
// Example:
//   AT_TRY(os::Cgroups cgroups, os::Cgroups::detect());
//   if (cgroups.oom_kills(path) > 0) reason = "OOMKilled";

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace agenttier::os {

enum class CgroupMode : std::uint8_t { kV1, kV2, kHybrid };

class Cgroups {
 public:
  // Reads this process's mounts; kNotFound if there are no control groups.
  static base::Result<Cgroups> detect();
  // From the text of /proc/self/mountinfo; pure but for reading the version 2 tree's controllers.
  static base::Result<Cgroups> parse(const std::string& mountinfo);

  CgroupMode mode() const { return mode_; }
  // Where version 2 is mounted beside version 1; empty in the other modes.
  const std::string& hybrid_mount() const { return hybrid_mount_; }
  bool has(const std::string& controller) const;  // "memory", "cpu", "pids", "freezer", ...

  std::optional<std::uint64_t> memory_bytes(const std::string& path) const;
  std::optional<std::uint64_t> memory_limit_bytes(const std::string& path) const;
  std::optional<std::chrono::nanoseconds> cpu_time(const std::string& path) const;
  std::optional<std::uint64_t> process_count(const std::string& path) const;
  std::uint64_t oom_kills(const std::string& path) const;

  // Processes in the group and all below it.
  std::vector<pid_t> processes(const std::string& path) const;
  // Kills them all, again until none is left; kDeadline after `time_max`.
  base::Status kill_all(const std::string& path, std::chrono::milliseconds time_max) const;
  // Removes the group and all below it, in every tree; they must be empty.
  base::Status remove(const std::string& path) const;
  // Names of the groups directly below a path, over all trees.
  std::vector<std::string> children(const std::string& path) const;

  // An inner group counts tasks and shares the processor apart from the group around it, and has
  // everything else in common with it: what the inner group may use up is not all there is.
  // A process that writes "0" to each of the entrances moves its calling thread into it, whatever
  // its rights. To be made before the outer group has processes, and limited when it has.
  base::Result<std::vector<Fd>> make_inner(const std::string& path) const;
  base::Status limit_inner(const std::string& path, std::int64_t pids_max) const;

 private:
  std::optional<std::string> directory(const std::string& controller,
                                       const std::string& path) const;

  CgroupMode mode_ = CgroupMode::kV1;
  std::map<std::string, std::string> roots_;  // by controller; version 1 named trees as "name=x"
  std::vector<std::string> trees_;            // every mount point, once
  std::string hybrid_mount_;
};

}  // namespace agenttier::os
