#include "kube/object_cache.h"

#include <utility>

namespace agenttier::kube {
namespace {

const json::value* find_in(const json::object& object, std::string_view outer,
                           std::string_view inner) {
  const json::value* found = object.if_contains(outer);
  return found != nullptr && found->is_object() ? found->get_object().if_contains(inner) : nullptr;
}

void add_owner_keys(const json::object& object, std::vector<std::string>& keys) {
  const json::value* owners = find_in(object, "metadata", "ownerReferences");
  if (owners == nullptr || !owners->is_array()) return;
  for (const json::value& owner : owners->get_array()) {
    if (!owner.is_object()) continue;
    const json::value* uid = owner.get_object().if_contains("uid");
    if (uid != nullptr && uid->is_string()) keys.push_back(owner_index_key(uid->get_string()));
  }
}

}  // namespace

std::string owner_index_key(std::string_view uid) {
  return "owner=" + std::string(uid);
}

std::string label_index_key(std::string_view label, std::string_view value) {
  return "label=" + std::string(label) + "=" + std::string(value);
}

std::vector<std::string> index_keys_of(const json::object& object,
                                       const std::vector<std::string>& labels) {
  std::vector<std::string> keys;
  add_owner_keys(object, keys);
  const json::value* present = find_in(object, "metadata", "labels");
  if (present == nullptr || !present->is_object()) return keys;
  for (const std::string& label : labels) {
    const json::value* value = present->get_object().if_contains(label);
    if (value != nullptr && value->is_string()) {
      keys.push_back(label_index_key(label, value->get_string()));
    }
  }
  return keys;
}

const CachedObject* ObjectCache::find(const ObjectKey& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : &found->second;
}

AnyObject ObjectCache::put(const ObjectKey& key, CachedObject object) {
  CachedObject& slot = objects_[key];
  unindex(key, slot);
  AnyObject old = std::move(slot.object);
  slot = std::move(object);
  for (const std::string& index_key : slot.index_keys) index_[index_key].insert(key);
  return old;
}

AnyObject ObjectCache::erase(const ObjectKey& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return nullptr;
  unindex(key, found->second);
  AnyObject old = std::move(found->second.object);
  objects_.erase(found);
  return old;
}

void ObjectCache::unindex(const ObjectKey& key, const CachedObject& object) {
  for (const std::string& index_key : object.index_keys) {
    const auto found = index_.find(index_key);
    if (found == index_.end()) continue;
    found->second.erase(key);
    if (found->second.empty()) index_.erase(found);
  }
}

std::vector<AnyObject> ObjectCache::list() const {
  std::vector<AnyObject> all;
  all.reserve(objects_.size());
  for (const auto& [key, cached] : objects_) all.push_back(cached.object);
  return all;
}

std::vector<AnyObject> ObjectCache::list(std::string_view ns) const {
  std::vector<AnyObject> all;
  const ObjectKey first{std::string(ns), ""};
  for (auto it = objects_.lower_bound(first); it != objects_.end() && it->first.ns == ns; ++it) {
    all.push_back(it->second.object);
  }
  return all;
}

std::vector<AnyObject> ObjectCache::list_indexed(const std::string& index_key) const {
  std::vector<AnyObject> all;
  const auto found = index_.find(index_key);
  if (found == index_.end()) return all;
  for (const ObjectKey& key : found->second) all.push_back(objects_.at(key).object);
  return all;
}

std::vector<ObjectKey> ObjectCache::keys() const {
  std::vector<ObjectKey> all;
  all.reserve(objects_.size());
  for (const auto& [key, cached] : objects_) all.push_back(key);
  return all;
}

}  // namespace agenttier::kube
