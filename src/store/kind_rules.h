#pragma once
// What a kind adds to the general rules: defaults, faults, fields that cannot change. Pure.

#include <vector>

#include "base/error.h"
#include "store/json.h"
#include "store/resource.h"

namespace agenttier::store {

// Fills in what Kubernetes fills in at every write (Secret.stringData becomes data, policyTypes,
// ...).
void apply_kind_defaults(const Resource& resource, json::object& object);
// Sets the first status of a new object ("Pending"), in place of what the client sent.
void apply_first_status(const Resource& resource, json::object& object);
std::vector<base::FieldCause> check_kind(const Resource& resource, const json::object& object);
// Fields that differ between two versions but must not.
std::vector<base::FieldCause> check_unchanged(const Resource& resource, const json::object& before,
                                              const json::object& after);

}  // namespace agenttier::store
