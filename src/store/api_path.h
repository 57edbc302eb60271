#pragma once
// Paths and queries of the Kubernetes API, as values.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"
#include "store/object_writer.h"
#include "store/resource.h"
#include "store/table_view.h"

namespace agenttier::store {

struct ApiPath {
  const Resource* resource;
  std::string ns;           // empty: cluster-scoped, or all namespaces
  std::string name;         // empty: the collection
  std::string subresource;  // "", "status", "binding", ...
};

// "/api/v1/namespaces/default/pods/x/status"; kNotFound for what is no object path.
base::Result<ApiPath> parse_api_path(std::string_view path);

enum class VersionMatch : std::uint8_t { kUnset, kExact, kNotOlderThan };

struct ApiQuery {
  std::string label_selector;
  std::string field_selector;
  std::string continue_token;
  std::size_t limit = 0;
  IncludeObject include_object = IncludeObject::kMetadata;
  bool watch = false;
  bool bookmarks = false;
  std::optional<bool> send_initial_events;
  std::string resource_version;
  std::string version_match_text;
  VersionMatch version_match = VersionMatch::kUnset;
  std::optional<std::int64_t> timeout_seconds;
  WriteOptions write;
  std::optional<Propagation> propagation;
  std::optional<std::int64_t> grace_seconds;
};

// `method` says which options the parameters are: those of a list, a create, ...
base::Result<ApiQuery> parse_api_query(std::string_view method, const http::Target& target);
// The parameters of a list, or of a watch, go together.
base::Status check_list_query(const ApiQuery& query);

struct Removal {
  DeleteRequest request;
  DryRun dry_run = DryRun::kNo;
};
// DeleteOptions of the body, which may be empty, then of the query.
base::Result<Removal> parse_removal(std::string_view body, const ApiQuery& query);

}  // namespace agenttier::store
