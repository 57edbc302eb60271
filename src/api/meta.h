#pragma once
// Helpers on the metadata of objects: who owns whom, finalizers, labels, conditions.
//
// Ownership is by UID, never by name: a name may be taken by another object the same second.
//
// Example:
//   pod.metadata.owner_references.push_back(controller_reference(Sandbox::kType,
//   sandbox.metadata)); if (!is_owned_by(pod.metadata, sandbox.metadata.uid)) return;  // an older
//   sandbox's pod

#include <string>
#include <string_view>
#include <vector>

#include "api/object_meta.h"
#include "api/resource_type.h"

namespace agenttier::api {

// "agenttier.io/v1alpha1", or "v1" for core kinds.
std::string api_version_of(const ResourceType& type);

// The reference that makes `owner` the one controller of an object and keeps it until that is gone.
OwnerReference controller_reference(const ResourceType& type, const ObjectMeta& owner);
bool is_owned_by(const ObjectMeta& meta, std::string_view owner_uid);
// The reference of the object's controller, or null.
const OwnerReference* find_controller(const ObjectMeta& meta);

bool has_finalizer(const ObjectMeta& meta, std::string_view finalizer);
void add_finalizer(ObjectMeta& meta, std::string_view finalizer);     // once
void remove_finalizer(ObjectMeta& meta, std::string_view finalizer);  // if there
inline bool is_being_deleted(const ObjectMeta& meta) {
  return meta.deletion_timestamp.has_value();
}

// The value of a label or annotation, or "".
std::string_view label_of(const ObjectMeta& meta, std::string_view key);
std::string_view annotation_of(const ObjectMeta& meta, std::string_view key);

const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type);
// Adds or replaces the condition of that type; lastTransitionTime moves only if the status changes.
// Gives true if anything changed.
bool set_condition(std::vector<Condition>& conditions, Condition condition);

}  // namespace agenttier::api
