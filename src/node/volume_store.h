#pragma once
// Persistent volumes: one directory per claim, keyed by the claim's UID.
//
// Guarantees: a volume appears whole (a clone is copied under another name first) and is removed
// whole. ensure() is idempotent. A volume's directory belongs to uid and gid 1000, as sandboxes do.
// The size is enforced by a project quota where the file system has them; where not, `limit` says
// so in words for the claim's status. A volume whose claim nobody knows any more is set aside for
// kOrphanKeptFor before it is removed: after a restored or lost database the files are still there.
//
// All calls block; the agent makes them on a BlockingPool.
//
// Example:
//   AT_TRY(VolumeInfo volume, volumes.ensure({.uid = uid, .bytes = 10 << 30}));
//   mounts.push_back({.source = volume.path, .target = "/workspace"});

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "node/node_paths.h"

namespace agenttier::node {

inline constexpr std::uint32_t kVolumeOwner = 1000;
inline constexpr std::chrono::hours kOrphanKeptFor{24 * 7};

struct VolumeRequest {
  std::string uid;
  std::uint64_t bytes = 0;
  std::string clone_of;  // uid of the claim to copy from; empty: start empty
};

struct VolumeInfo {
  std::string path;
  bool size_enforced = false;
  std::string limit;  // why not, and what to do
};

class VolumeStore {
 public:
  VolumeStore(const NodePaths& paths, const base::Clock& clock) : paths_(paths), clock_(clock) {}

  base::Result<VolumeInfo> ensure(const VolumeRequest& request) const;
  // The path of a volume that exists; kNotFound otherwise.
  base::Result<std::string> find(const std::string& uid) const;
  base::Status remove(const std::string& uid) const;
  base::Result<std::uint64_t> bytes_used(const std::string& uid) const;

  // Once at start, and now and then: sets aside what no claim owns, removes what was set aside for
  // long, and what was left half made.
  base::Status recover(const std::set<std::string>& known_uids) const;

 private:
  static VolumeInfo limit_size(const VolumeRequest& request, const std::string& path);
  base::Status make(const VolumeRequest& request, const std::string& staged) const;
  std::string orphans() const { return paths_.state() + "/volumes-orphaned"; }

  const NodePaths& paths_;
  const base::Clock& clock_;
};

}  // namespace agenttier::node
