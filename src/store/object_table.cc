#include "store/object_table.h"

namespace agenttier::store {

ObjectTable::ObjectTable() : sets_(all_resources().size()) {}

ObjectPtr ObjectTable::find(const Resource& resource, std::string_view ns,
                            std::string_view name) const {
  const ObjectSet& set = of(resource);
  const auto found = set.find(KeyView{ns, name});
  return found == set.end() ? nullptr : *found;
}

ObjectPtr ObjectTable::find_uid(std::string_view uid) const {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : *found;
}

std::vector<ObjectPtr> ObjectTable::dependents(std::string_view owner_uid) const {
  const auto found = dependents_.find(std::string(owner_uid));
  if (found == dependents_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

bool ObjectTable::has_dependents(std::string_view owner_uid) const {
  return dependents_.contains(std::string(owner_uid));
}

bool ObjectTable::namespace_in_use(std::string_view ns) const {
  for (const Resource& resource : all_resources()) {
    if (!resource.type.namespaced) continue;
    const auto first = of(resource).lower_bound(KeyView{ns, ""});
    if (first != of(resource).end() && (*first)->ns == ns) return true;
  }
  return false;
}

void ObjectTable::put(const ObjectPtr& object) {
  if (const ObjectPtr before = find(*object->resource, object->ns, object->name)) erase(*before);
  sets_[object->resource->index].insert(object);
  by_uid_.insert(object);
  for (const std::string& owner : object->owners) dependents_[owner].insert(object);
}

void ObjectTable::erase(const StoredObject& object) {
  ObjectSet& set = sets_[object.resource->index];
  const auto found = set.find(key_of(object));
  if (found == set.end()) return;
  const ObjectPtr present = *found;
  set.erase(found);
  by_uid_.erase(present);
  for (const std::string& owner : present->owners) {
    const auto entry = dependents_.find(owner);
    if (entry == dependents_.end()) continue;
    entry->second.erase(present);
    if (entry->second.empty()) dependents_.erase(entry);
  }
}

void ObjectTable::apply(const Change& change) {
  if (change.kind == ChangeKind::kDeleted) {
    erase(*change.after);
  } else {
    put(change.after);
  }
}

}  // namespace agenttier::store
