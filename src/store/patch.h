#pragma once
// Patches of the Kubernetes API: JSON patch (RFC 6902), merge patch (RFC 7386) and strategic merge
// patch, which merges lists of built-in kinds by key ("containers" by "name").
//
// All are pure: the patched value, or the error a client is to see. Work and growth are limited.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "store/json.h"

namespace agenttier::store {

inline constexpr std::size_t kPatchOperationsMax = 10000;
// Values that the copies of one JSON patch may make in total; a patch cannot grow exponentially.
inline constexpr std::size_t kPatchCopiedMax = 100000;

enum class PatchType : std::uint8_t { kJson, kMerge, kStrategicMerge };

// By media type ("application/merge-patch+json; charset=utf-8").
std::optional<PatchType> patch_type_of(std::string_view media_type);

base::Result<json::value> apply_json_patch(json::value target, const json::value& patch);
base::Result<json::value> apply_merge_patch(json::value target, const json::value& patch);
base::Result<json::value> apply_strategic_merge(json::value target, const json::value& patch);

base::Result<json::value> apply_patch(PatchType type, json::value target, const json::value& patch);

}  // namespace agenttier::store
