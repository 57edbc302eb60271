#include "store/patch.h"

#include <utility>

#include "store/api_error.h"

namespace agenttier::store {
namespace {

json::value merged(json::value target, const json::value& patch) {
  const json::object* changes = patch.if_object();
  if (!changes) return patch;
  if (!target.is_object()) target = json::object();
  json::object& object = target.get_object();
  for (const auto& [key, change] : *changes) {
    if (change.is_null()) {
      object.erase(key);
    } else {
      json::value& member = object[key];
      member = merged(std::move(member), change);
    }
  }
  return target;
}

}  // namespace

std::optional<PatchType> patch_type_of(std::string_view media_type) {
  media_type = media_type.substr(0, media_type.find(';'));
  while (media_type.ends_with(' ')) media_type.remove_suffix(1);
  if (media_type == "application/json-patch+json") return PatchType::kJson;
  if (media_type == "application/merge-patch+json") return PatchType::kMerge;
  if (media_type == "application/strategic-merge-patch+json") return PatchType::kStrategicMerge;
  return std::nullopt;
}

base::Result<json::value> apply_merge_patch(json::value target, const json::value& patch) {
  if (!patch.is_object()) return bad_request("a merge patch must be a JSON object");
  return merged(std::move(target), patch);
}

base::Result<json::value> apply_patch(PatchType type, json::value target,
                                      const json::value& patch) {
  switch (type) {
    case PatchType::kJson:
      return apply_json_patch(std::move(target), patch);
    case PatchType::kMerge:
      return apply_merge_patch(std::move(target), patch);
    case PatchType::kStrategicMerge:
      return apply_strategic_merge(std::move(target), patch);
  }
  return base::internal("unknown patch type");
}

}  // namespace agenttier::store
