#include "store/latest_state.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace agenttier::store {

void LatestState::reset(ObjectTable table, std::uint64_t version, std::int64_t row) {
  table_ = std::move(table);
  changes_.clear();
  version_ = std::max(version_, version);
  last_row_ = std::max(last_row_, row);
}

std::int64_t LatestState::now_seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(clock_.now().time_since_epoch()).count();
}

ObjectPtr LatestState::prepare(const Resource& resource, const ObjectPtr& before,
                               json::object value) const {
  const std::uint64_t version = version_ + 1;
  object_at(value, "metadata")["resourceVersion"] = std::to_string(version);
  const std::int64_t row = before ? before->row : last_row_ + 1;
  return make_object({&resource, row, version, now_seconds()}, value);
}

void LatestState::put(const ObjectPtr& before, const ObjectPtr& prepared) {
  AT_ASSERT(prepared->version == version_ + 1);
  version_ = prepared->version;
  last_row_ = std::max(last_row_, prepared->row);
  table_.put(prepared);
  changes_.push_back({before ? ChangeKind::kModified : ChangeKind::kAdded, before, prepared});
}

ObjectPtr LatestState::put(const Resource& resource, const ObjectPtr& before, json::object value) {
  const ObjectPtr prepared = prepare(resource, before, std::move(value));
  put(before, prepared);
  return prepared;
}

void LatestState::erase(const ObjectPtr& object) {
  ++version_;
  table_.erase(*object);
  changes_.push_back({ChangeKind::kDeleted, object, at_version(*object, version_)});
}

void LatestState::erase_written(const ObjectPtr& object) {
  AT_ASSERT(!changes_.empty() && changes_.back().after == object);
  if (changes_.back().kind != ChangeKind::kModified) return erase(object);
  ++version_;
  table_.erase(*object);
  Change& last = changes_.back();
  last = {ChangeKind::kDeleted, last.before, at_version(*object, version_)};
}

}  // namespace agenttier::store
