#pragma once
// The objects an informer holds, by key, with an index by owner UID and by chosen labels.
//
// Objects are immutable and shared: a reader keeps what it found, whatever happens to the cache.

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/client.h"

namespace agenttier::kube {

using AnyObject = std::shared_ptr<const void>;

struct CachedObject {
  AnyObject object;
  std::string uid;
  std::string resource_version;
  std::vector<std::string> index_keys;
};

std::string owner_index_key(std::string_view uid);
std::string label_index_key(std::string_view label, std::string_view value);
// Index keys of an object: its owners, and those of `labels` that it carries.
std::vector<std::string> index_keys_of(const json::object& object,
                                       const std::vector<std::string>& labels);

class ObjectCache {
 public:
  const CachedObject* find(const ObjectKey& key) const;
  // Replaces what is there and gives it back.
  AnyObject put(const ObjectKey& key, CachedObject object);
  AnyObject erase(const ObjectKey& key);

  std::size_t size() const { return objects_.size(); }
  std::vector<AnyObject> list() const;
  std::vector<AnyObject> list(std::string_view ns) const;
  std::vector<AnyObject> list_indexed(const std::string& index_key) const;
  std::vector<ObjectKey> keys() const;

 private:
  void unindex(const ObjectKey& key, const CachedObject& object);

  std::map<ObjectKey, CachedObject> objects_;
  std::map<std::string, std::set<ObjectKey>> index_;
};

}  // namespace agenttier::kube
