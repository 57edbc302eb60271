#include "store/watch_history.h"

#include <algorithm>
#include <utility>

namespace agenttier::store {
namespace {

auto first_after(const std::deque<Change>& events, std::uint64_t version) {
  return std::upper_bound(events.begin(), events.end(), version,
                          [](std::uint64_t v, const Change& c) { return v < c.after->version; });
}

}  // namespace

WatchHistory::WatchHistory(async::Executor executor, WatchLimits limits, std::uint64_t version)
    : limits_(limits), version_(version) {
  for (std::size_t i = 0; i < all_resources().size(); ++i) {
    kinds_.push_back(std::make_unique<Kind>(executor));
    kinds_.back()->dropped = version;
  }
}

void WatchHistory::append(const Change& change) {
  Kind& kind = *kinds_[change.after->resource->index];
  kind.bytes += change.after->bytes();
  kind.events.push_back(change);
  kind.touched = true;
  while (kind.events.size() > limits_.events_max ||
         (kind.bytes > limits_.bytes_max && kind.events.size() > 1)) {
    kind.bytes -= kind.events.front().after->bytes();
    kind.dropped = kind.events.front().after->version;
    kind.events.pop_front();
  }
}

void WatchHistory::publish(std::uint64_t version) {
  version_ = version;
  for (const auto& kind : kinds_) {
    if (std::exchange(kind->touched, false)) kind->changed.notify_all();
  }
}

bool WatchHistory::reaches(const Resource& resource, std::uint64_t version) const {
  return version >= kinds_[resource.index]->dropped && version <= version_;
}

const Change* WatchHistory::next(const Resource& resource, std::uint64_t version) const {
  const auto& events = kinds_[resource.index]->events;
  const auto found = first_after(events, version);
  return found == events.end() ? nullptr : &*found;
}

std::vector<const Change*> WatchHistory::since(const Resource& resource,
                                               std::uint64_t version) const {
  const auto& events = kinds_[resource.index]->events;
  std::vector<const Change*> found;
  for (auto it = first_after(events, version); it != events.end(); ++it) found.push_back(&*it);
  return found;
}

void WatchHistory::close() {
  closed_ = true;
  for (const auto& kind : kinds_) kind->changed.notify_all();
}

}  // namespace agenttier::store
