#pragma once
// The WatchHistory remembers the last changes of each kind, so that a watch can start at an earlier
// version and a list can continue the snapshot it began with.
//
// Bounded per kind by events and by bytes; what is older is dropped, and whoever needs it lists
// again (410 Gone). A watcher has no queue: it reads here, at its own pace. Loop thread only.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "async/event.h"
#include "store/object.h"

namespace agenttier::store {

struct WatchLimits {
  std::size_t events_max;
  std::size_t bytes_max;
};

class WatchHistory {
 public:
  // Nothing before `version` is known.
  WatchHistory(async::Executor executor, WatchLimits limits, std::uint64_t version);

  void append(const Change& change);
  // Everything up to `version` has been appended: wakes the watchers of the kinds that changed.
  void publish(std::uint64_t version);
  std::uint64_t version() const { return version_; }

  // True if all changes of the kind after `version` are here.
  bool reaches(const Resource& resource, std::uint64_t version) const;
  // The first change of the kind after `version`; null if there is none (yet).
  const Change* next(const Resource& resource, std::uint64_t version) const;
  // All of them, oldest first; valid until the next append.
  std::vector<const Change*> since(const Resource& resource, std::uint64_t version) const;

  async::Event& changed(const Resource& resource) { return kinds_[resource.index]->changed; }

  // Ends all watches.
  void close();
  bool closed() const { return closed_; }

 private:
  struct Kind {
    explicit Kind(async::Executor executor) : changed(std::move(executor)) {}
    std::deque<Change> events;
    std::size_t bytes = 0;
    std::uint64_t dropped = 0;  // version of the last event that is not here
    bool touched = false;
    async::Event changed;
  };

  WatchLimits limits_;
  std::uint64_t version_;
  bool closed_ = false;
  std::vector<std::unique_ptr<Kind>> kinds_;
};

}  // namespace agenttier::store
