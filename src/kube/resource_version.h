#pragma once
// resourceVersions in order. They are strings on the wire; those of one server compare as integers,
// across its kinds. Nothing may be concluded from a version that is no number.
//
// Example: if (compare_versions(seen, written) == VersionOrder::kOlder) wait_for_more();

#include <string_view>

namespace agenttier::kube {

enum class VersionOrder { kOlder, kSame, kNewer, kUnknown };

// How `left` stands to `right`. kUnknown when they differ and one is not a decimal number.
VersionOrder compare_versions(std::string_view left, std::string_view right);

}  // namespace agenttier::kube
