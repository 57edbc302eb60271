#pragma once
// The ObjectRemover decides what a deletion does: finalizers hold an object back, pods on a node
// end gracefully, dependents follow their last owner, a namespace takes its content with it.
//
// All of it happens in the LatestState at once, in one commit with its cause: an owner is never
// gone without its dependents being gone or marked. A chain of owners of any length needs no stack.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "store/latest_state.h"

namespace agenttier::store {

enum class Propagation : std::uint8_t { kDefault, kBackground, kForeground, kOrphan };

struct DeleteRequest {
  std::string uid;               // precondition
  std::string resource_version;  // precondition
  Propagation propagation = Propagation::kDefault;
  std::optional<std::int64_t> grace_seconds;
};

class ObjectRemover {
 public:
  explicit ObjectRemover(LatestState& latest) : latest_(latest) {}

  base::Status check(const ObjectPtr& object, const DeleteRequest& request) const;
  // Marks or removes the object and all that follows from it; gives its last state.
  ObjectPtr remove(const ObjectPtr& object, const DeleteRequest& request);
  // After a write: removes the object if it was only waiting for its finalizers, or if none of its
  // owners is there.
  void settle_after_write(const ObjectPtr& object);

 private:
  struct Removal {
    std::string uid;
    DeleteRequest request;
  };
  struct Release {  // of an owner that may have waited for its dependents
    std::string uid;
  };
  struct Gone {
    ObjectPtr object;
  };
  using Work = std::variant<Removal, Release, Gone>;

  void run();
  void remove_one(const ObjectPtr& object, const DeleteRequest& request);
  void finish(const ObjectPtr& object);
  void orphan_dependents(const StoredObject& owner);
  void queue_dependents(const StoredObject& owner);
  void queue_namespace_content(std::string_view ns);
  void after_gone(const StoredObject& gone);
  void release_owner(std::string_view uid);
  void release_namespace(std::string_view ns);
  bool has_blocking_dependents(const StoredObject& owner) const;
  bool has_living_owner(const json::object& value) const;
  void drop_reference(const ObjectPtr& dependent, std::string_view uid);

  LatestState& latest_;
  std::deque<Work> work_;
  ObjectPtr last_;  // of what is removed by request
};

}  // namespace agenttier::store
