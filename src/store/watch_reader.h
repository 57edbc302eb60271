#pragma once
// A WatchReader is the body of a watch: one JSON line per event, as they come.
//
// It starts with the given objects as ADDED (none for a watch from a version), then follows the
// history. With a selector, an object that begins to match is ADDED and one that ceases to is
// DELETED. A reader that is too slow for the history gets an ERROR event (410) and the end. It
// holds the history alive and may outlive the store.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "http/message.h"
#include "store/selector.h"
#include "store/watch_history.h"

namespace agenttier::store {

struct WatchPlan {
  const Resource* resource;
  std::string ns;  // empty: all
  Selector selector;
  std::uint64_t from_version;
  std::vector<ObjectPtr> initial;
  bool marks_initial_end = false;  // a bookmark after the initial objects
  bool bookmarks = false;
  const base::Clock* clock;  // measures waits; outlives the reader
  std::chrono::milliseconds time_max;
  std::chrono::milliseconds bookmark_interval;
  // How an object is shown; empty: as its JSON.
  std::function<std::string(const StoredObject&)> render;
};

std::unique_ptr<http::BodyReader> make_watch_reader(std::shared_ptr<WatchHistory> history,
                                                    WatchPlan plan);

}  // namespace agenttier::store
