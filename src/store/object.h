#pragma once
// A StoredObject is one version of one object: its JSON text, ready to be sent, and beside it what
// lists, watches and garbage collection ask for. It never changes; a new version is a new one.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/json.h"
#include "store/resource.h"

namespace agenttier::store {

struct StoredObject {
  const Resource* resource;
  std::int64_t row = 0;  // of the database; kept by all versions of the object
  std::uint64_t version = 0;
  std::int64_t written_at = 0;  // seconds since 1970, of this version
  std::string ns;               // empty for kinds without namespace
  std::string name;
  std::string uid;
  std::vector<std::pair<std::string, std::string>> labels;  // sorted by key
  std::vector<std::string> fields;                          // in the order of resource->fields
  std::vector<std::string> owners;                          // uids
  bool deleting = false;                                    // has a deletionTimestamp
  std::string text;

  // Of the memory it takes, near enough for limits.
  std::size_t bytes() const { return text.size() + sizeof(StoredObject) + 64 * labels.size(); }
};

using ObjectPtr = std::shared_ptr<const StoredObject>;

struct ObjectIdentity {
  const Resource* resource;
  std::int64_t row;
  std::uint64_t version;
  std::int64_t written_at;
};

// `value` has complete metadata, with metadata.resourceVersion equal to identity.version.
ObjectPtr make_object(const ObjectIdentity& identity, const json::object& value);
// From a text that was stored before; kInternal if it is not an object with metadata.
base::Result<ObjectPtr> restore_object(const ObjectIdentity& identity, std::string text);
json::object parse_object(const StoredObject& object);
// The same object as seen at another version: what the event of a deletion carries. 0: at none, as
// one that was not written.
ObjectPtr at_version(const StoredObject& object, std::uint64_t version);

enum class ChangeKind : std::uint8_t { kAdded, kModified, kDeleted };

struct Change {
  ChangeKind kind;
  ObjectPtr before;  // null if added
  ObjectPtr after;   // of a deletion: the last state, with the version of the deletion
};

}  // namespace agenttier::store
