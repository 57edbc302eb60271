#include "store/api_path.h"

#include <charconv>
#include <utility>
#include <vector>

#include "store/api_error.h"

namespace agenttier::store {
namespace {

using Segments = std::vector<std::string>;

base::Result<Segments> split_path(std::string_view path) {
  Segments segments;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::size_t slash = path.find('/');
    auto decoded = http::percent_decode(path.substr(0, slash));
    if (!decoded) return bad_request("path: " + decoded.error().message);
    segments.push_back(*std::move(decoded));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash);
  }
  if (!segments.empty() && segments.back().empty()) segments.pop_back();
  return segments;
}

std::string at(const Segments& segments, std::size_t index) {
  return index < segments.size() ? segments[index] : std::string();
}

base::Result<std::int64_t> parse_number(std::string_view name, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  return bad_request(std::string(name) + ": must be a whole number that is not negative");
}

base::Result<bool> parse_flag(std::string_view name, std::string_view text) {
  if (text == "true" || text == "1" || text == "True" || text.empty()) return true;
  if (text == "false" || text == "0" || text == "False") return false;
  return bad_request(std::string(name) + ": must be true or false");
}

base::Result<Propagation> parse_propagation(std::string_view text) {
  if (text == "Background") return Propagation::kBackground;
  if (text == "Foreground") return Propagation::kForeground;
  if (text == "Orphan") return Propagation::kOrphan;
  return bad_request("propagationPolicy: must be Background, Foreground or Orphan");
}

base::Result<FieldValidation> parse_validation(std::string_view text) {
  if (text == "Ignore") return FieldValidation::kIgnore;
  if (text == "Warn") return FieldValidation::kWarn;
  if (text == "Strict") return FieldValidation::kStrict;
  return bad_request("fieldValidation: must be Ignore, Warn or Strict");
}

base::Result<VersionMatch> parse_match(std::string_view text) {
  if (text == "Exact") return VersionMatch::kExact;
  if (text == "NotOlderThan") return VersionMatch::kNotOlderThan;
  return bad_request("resourceVersionMatch: must be Exact or NotOlderThan");
}

base::Status read_write_parameter(ApiQuery& query, std::string_view name, std::string_view value) {
  if (name == "dryRun") {
    if (value != "All") return bad_request("dryRun: must be All");
    query.write.dry_run = DryRun::kYes;
  } else if (name == "fieldValidation") {
    AT_TRY(query.write.field_validation, parse_validation(value));
  } else if (name == "propagationPolicy") {
    AT_TRY(query.propagation, parse_propagation(value));
  } else if (name == "gracePeriodSeconds") {
    AT_TRY(query.grace_seconds, parse_number(name, value));
  }
  return {};
}

base::Status read_flag_parameter(ApiQuery& query, std::string_view name, std::string_view value) {
  if (name == "watch") {
    AT_TRY(query.watch, parse_flag(name, value));
  } else if (name == "allowWatchBookmarks") {
    AT_TRY(query.bookmarks, parse_flag(name, value));
  } else if (name == "sendInitialEvents") {
    AT_TRY(query.send_initial_events, parse_flag(name, value));
  }
  return {};
}

base::Status read_parameter(ApiQuery& query, const std::string& name, const std::string& value) {
  if (name == "labelSelector") {
    query.label_selector = value;
  } else if (name == "fieldSelector") {
    query.field_selector = value;
  } else if (name == "continue") {
    query.continue_token = value;
  } else if (name == "resourceVersion") {
    if (!value.empty()) AT_OK(parse_number(name, value));
    query.resource_version = value;
  } else if (value.empty() && name != "watch") {
    return {};
  } else if (name == "limit") {
    AT_TRY(const std::int64_t limit, parse_number(name, value));
    query.limit = static_cast<std::size_t>(limit);
  } else if (name == "timeoutSeconds") {
    AT_TRY(query.timeout_seconds, parse_number(name, value));
  } else if (name == "resourceVersionMatch") {
    AT_TRY(query.version_match, parse_match(value));
  } else {
    AT_OK(read_flag_parameter(query, name, value));
    AT_OK(read_write_parameter(query, name, value));
  }
  return {};
}

// Whether the segments after the group and version name a namespace's collection.
bool is_namespaced_path(const Segments& segments, std::size_t base, std::string_view group,
                        std::string_view version) {
  if (at(segments, base) != "namespaces" || segments.size() < base + 3) return false;
  const Resource* resource = find_resource(group, version, segments[base + 2]);
  return resource && resource->type.namespaced;
}

base::Status read_delete_options(std::string_view body, Removal& removal) {
  const auto parsed = parse_json(body);
  if (!parsed) return bad_request("body: " + parsed.error().message);
  if (!parsed->is_object()) return bad_request("the body must be DeleteOptions");
  const json::object& options = parsed->get_object();
  DeleteRequest& request = removal.request;
  request.uid = find_text(options, "preconditions.uid");
  request.resource_version = find_text(options, "preconditions.resourceVersion");
  const json::value* grace = options.if_contains("gracePeriodSeconds");
  if (grace && grace->is_int64()) request.grace_seconds = grace->get_int64();
  const json::value* orphan = options.if_contains("orphanDependents");
  if (orphan && *orphan == json::value(true)) request.propagation = Propagation::kOrphan;
  const std::string_view policy = find_text(options, "propagationPolicy");
  if (!policy.empty()) {
    AT_TRY(request.propagation, parse_propagation(policy));
  }
  const json::array* dry = find_array(options, "dryRun");
  if (dry && !dry->empty()) removal.dry_run = DryRun::kYes;
  return {};
}

}  // namespace

base::Result<ApiPath> parse_api_path(std::string_view path) {
  AT_TRY(const Segments segments, split_path(path));
  std::size_t base = 0;
  std::string group;
  std::string version;
  if (at(segments, 0) == "api" && segments.size() > 2) {
    version = segments[1];
    base = 2;
  } else if (at(segments, 0) == "apis" && segments.size() > 3) {
    group = segments[1];
    version = segments[2];
    base = 3;
  } else {
    return path_not_found();
  }
  ApiPath result{};
  if (is_namespaced_path(segments, base, group, version)) {
    result.ns = segments[base + 1];
    base += 2;
    if (result.ns.empty()) return path_not_found();
  }
  result.resource = find_resource(group, version, segments[base]);
  result.name = at(segments, base + 1);
  result.subresource = at(segments, base + 2);
  if (!result.resource || segments.size() > base + 3) return path_not_found();
  // An object of a namespace is reached through its namespace only.
  const bool one_of_namespace = result.resource->type.namespaced && !result.name.empty();
  if (one_of_namespace && result.ns.empty()) return path_not_found();
  return result;
}

base::Result<ApiQuery> parse_api_query(const http::Target& target) {
  ApiQuery query;
  for (const auto& [name, value] : target.query) AT_OK(read_parameter(query, name, value));
  return query;
}

base::Result<Removal> parse_removal(std::string_view body, const ApiQuery& query) {
  Removal removal;
  removal.dry_run = query.write.dry_run;
  if (!body.empty()) AT_OK(read_delete_options(body, removal));
  if (query.propagation) removal.request.propagation = *query.propagation;
  if (query.grace_seconds) removal.request.grace_seconds = query.grace_seconds;
  return removal;
}

}  // namespace agenttier::store
