#pragma once
// What clients such as kubectl ask first: which groups, versions and kinds there are.

#include <optional>
#include <string>
#include <string_view>

namespace agenttier::store {

// The JSON document at a path such as "/apis" or "/version"; nothing for other paths.
std::optional<std::string> discovery_document(std::string_view path);
// The same below "/openapi/v3": that fields are validated here, and the schemas of our kinds.
std::optional<std::string> openapi_document(std::string_view path);

}  // namespace agenttier::store
