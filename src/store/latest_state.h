#pragma once
// The LatestState is what the objects will be once every accepted write is durable. Writes are
// decided on it, so that each sees all before it; reads never see it.
//
// prepare() makes the next version of an object without effect; put() and erase() take effect and
// note the Change for the commit.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "store/object_table.h"

namespace agenttier::store {

class LatestState {
 public:
  LatestState(const base::Clock& clock, base::Random& random) : clock_(clock), random_(random) {}

  // The state after a start or a failed commit. Versions once given are never given again.
  void reset(ObjectTable table, std::uint64_t version, std::int64_t row);

  const ObjectTable& table() const { return table_; }
  ObjectPtr find(const Resource& resource, std::string_view ns, std::string_view name) const {
    return table_.find(resource, ns, name);
  }

  // `before` is null for a new object. Only the last prepared object can be put.
  ObjectPtr prepare(const Resource& resource, const ObjectPtr& before, json::object value) const;
  void put(const ObjectPtr& before, const ObjectPtr& prepared);
  ObjectPtr put(const Resource& resource, const ObjectPtr& before, json::object value);
  void erase(const ObjectPtr& object);
  // Removes an object that the last change wrote: watchers hear of its end alone.
  void erase_written(const ObjectPtr& object);
  std::vector<Change> take_changes() { return std::exchange(changes_, {}); }
  bool has_changes() const { return !changes_.empty(); }

  std::uint64_t version() const { return version_; }
  std::int64_t last_row() const { return last_row_; }
  base::WallTime now() const { return clock_.now(); }
  base::Random& random() { return random_; }

 private:
  std::int64_t now_seconds() const;

  const base::Clock& clock_;
  base::Random& random_;
  ObjectTable table_;
  std::vector<Change> changes_;
  std::uint64_t version_ = 0;
  std::int64_t last_row_ = 0;
};

}  // namespace agenttier::store
