#pragma once
// An ObjectTable is the set of objects at one moment, found by kind, namespace and name, by uid,
// and by the uid of an owner. Copying one copies pointers only.

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "store/object.h"

namespace agenttier::store {

struct KeyView {
  std::string_view ns;
  std::string_view name;
  auto operator<=>(const KeyView&) const = default;
};

inline KeyView key_of(const StoredObject& object) {
  return {object.ns, object.name};
}

struct ByKey {
  using is_transparent = void;
  bool operator()(const ObjectPtr& a, const ObjectPtr& b) const { return key_of(*a) < key_of(*b); }
  bool operator()(const ObjectPtr& a, KeyView b) const { return key_of(*a) < b; }
  bool operator()(KeyView a, const ObjectPtr& b) const { return a < key_of(*b); }
};

using ObjectSet = std::set<ObjectPtr, ByKey>;

class ObjectTable {
 public:
  ObjectTable();

  // Null if there is none.
  ObjectPtr find(const Resource& resource, std::string_view ns, std::string_view name) const;
  ObjectPtr find_uid(std::string_view uid) const;
  // In order of namespace and name.
  const ObjectSet& of(const Resource& resource) const { return sets_[resource.index]; }
  std::vector<ObjectPtr> dependents(std::string_view owner_uid) const;
  bool has_dependents(std::string_view owner_uid) const;
  // Any object of a kind with namespaces in that one.
  bool namespace_in_use(std::string_view ns) const;
  std::size_t size() const { return by_uid_.size(); }

  // Adds the object in place of its earlier version, if any.
  void put(const ObjectPtr& object);
  void erase(const StoredObject& object);
  void apply(const Change& change);

 private:
  struct ByUid {
    using is_transparent = void;
    std::size_t operator()(const ObjectPtr& object) const { return (*this)(object->uid); }
    std::size_t operator()(std::string_view uid) const {
      return std::hash<std::string_view>()(uid);
    }
    bool operator()(const ObjectPtr& a, const ObjectPtr& b) const { return a->uid == b->uid; }
    bool operator()(const ObjectPtr& a, std::string_view b) const { return a->uid == b; }
    bool operator()(std::string_view a, const ObjectPtr& b) const { return a == b->uid; }
  };

  struct ByResourceAndKey {
    bool operator()(const ObjectPtr& a, const ObjectPtr& b) const {
      if (a->resource != b->resource) return a->resource->index < b->resource->index;
      return key_of(*a) < key_of(*b);
    }
  };

  std::vector<ObjectSet> sets_;
  std::unordered_set<ObjectPtr, ByUid, ByUid> by_uid_;
  std::unordered_map<std::string, std::set<ObjectPtr, ByResourceAndKey>> dependents_;
};

}  // namespace agenttier::store
