#pragma once
// The ObjectWriter decides creates, updates and patches as a kube-apiserver does: the rules of
// metadata and of the kind, optimistic concurrency, the status subresource, generation, and that a
// write which changes nothing is none.
//
// Synchronous: decides on the LatestState and changes it. A dry run decides the same and changes
// nothing.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/latest_state.h"
#include "store/object_remover.h"
#include "store/patch.h"

namespace agenttier::store {

enum class DryRun : std::uint8_t { kNo, kYes };
enum class FieldValidation : std::uint8_t { kIgnore, kWarn, kStrict };
enum class Part : std::uint8_t { kMain, kStatus };

struct WriteOptions {
  DryRun dry_run = DryRun::kNo;
  FieldValidation field_validation = FieldValidation::kWarn;
};

struct ObjectPlace {
  const Resource* resource;
  std::string ns;
  std::string name;
};

struct WriteOutcome {
  ObjectPtr object;
  std::vector<std::string> unknown_fields;
  std::vector<std::string> notices;  // what else the client should know
};

class ObjectWriter {
 public:
  ObjectWriter(LatestState& latest, ObjectRemover& remover, std::size_t object_bytes_max)
      : latest_(latest), remover_(remover), object_bytes_max_(object_bytes_max) {}

  // `place.name` is empty or the name in the path.
  base::Result<WriteOutcome> create(const ObjectPlace& place, json::object body,
                                    const WriteOptions& options);
  base::Result<WriteOutcome> update(const ObjectPlace& place, Part part, json::object body,
                                    const WriteOptions& options);
  base::Result<WriteOutcome> patch(const ObjectPlace& place, Part part, PatchType type,
                                   const json::value& patch, const WriteOptions& options);
  // Sets spec.nodeName of a pod that has none.
  base::Result<WriteOutcome> bind_pod(const ObjectPlace& place, const json::object& binding,
                                      const WriteOptions& options);

 private:
  enum class Verb : std::uint8_t { kUpdate, kPatch };

  base::Status check_namespace(const ObjectPlace& place, std::string_view name) const;
  base::Result<std::string> choose_name(const ObjectPlace& place, const json::object& metadata);
  base::Result<WriteOutcome> write(const ObjectPtr& before, Part part, Verb verb, json::object body,
                                   const WriteOptions& options);
  base::Status check_preconditions(const ObjectPtr& before, Verb verb,
                                   const json::object& metadata) const;
  static json::object written_part(const json::object& before, Part part, const Resource& resource,
                                   json::object metadata, json::object body);
  base::Status check_object(const Resource& resource, const json::object& object,
                            std::vector<base::FieldCause> causes) const;
  base::Result<ObjectPtr> finish(const Resource& resource, const ObjectPtr& before,
                                 json::object object, const WriteOptions& options);

  LatestState& latest_;
  ObjectRemover& remover_;
  std::size_t object_bytes_max_;
};

}  // namespace agenttier::store
