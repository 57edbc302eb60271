#pragma once
// The rules of pods: what Kubernetes fills in, what it refuses, what cannot change. Pure.

#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/json.h"

namespace agenttier::store {

void default_pod(json::object& pod);
// "Guaranteed", "Burstable" or "BestEffort", from what the containers ask for.
std::string_view pod_quality(const json::object& pod);
void check_pod(const json::object& pod, std::vector<base::FieldCause>& causes);
void check_pod_unchanged(const json::object& before, const json::object& after,
                         std::vector<base::FieldCause>& causes);

}  // namespace agenttier::store
