#include "store/api_path.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <utility>
#include <vector>

#include "store/api_error.h"

namespace agenttier::store {
namespace {

using Segments = std::vector<std::string>;

constexpr std::string_view kDeleteOptions = "DeleteOptions";
constexpr std::string_view kListOptions = "ListOptions";
constexpr std::size_t kShownMax = 200;  // bytes of a value in a message
constexpr std::size_t kManagerBytesMax = 128;

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
  if (failure == std::errc() && end == text.data() + text.size()) return value;
  return bad_request(std::string(name) + ": must be a whole number, not \"" +
                     std::string(text.substr(0, kShownMax)) + "\"");
}

std::string quoted(std::string_view text) {
  return json::serialize(json::value(text.substr(0, kShownMax)));
}

base::Error unsupported(std::string_view options, std::string_view name, const std::string& value,
                        std::string_view supported) {
  return invalid_options(
      options, {std::string(name),
                "Unsupported value: " + value + ": supported values: " + std::string(supported)});
}

std::string_view options_of(std::string_view method) {
  if (method == "POST") return "CreateOptions";
  if (method == "PUT") return "UpdateOptions";
  if (method == "PATCH") return "PatchOptions";
  if (method == "DELETE") return kDeleteOptions;
  return kListOptions;
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
  return unsupported(kDeleteOptions, "propagationPolicy", quoted(text),
                     R"("Foreground", "Background", "Orphan", "nil")");
}

base::Result<FieldValidation> parse_validation(std::string_view options, std::string_view text) {
  if (text == "Ignore") return FieldValidation::kIgnore;
  if (text == "Warn") return FieldValidation::kWarn;
  if (text == "Strict") return FieldValidation::kStrict;
  return unsupported(options, "fieldValidation", quoted(text), R"("", "Ignore", "Strict", "Warn")");
}

base::Result<DryRun> parse_dry_run(std::string_view options, std::string_view value) {
  if (value == "All") return DryRun::kYes;
  return unsupported(options, "dryRun", "[" + quoted(value) + "]", R"("All")");
}

// The name is not kept: nothing here asks who wrote a field.
base::Status check_manager(std::string_view options, std::string_view name) {
  const std::string field = "fieldManager";
  if (name.size() > kManagerBytesMax) {
    return invalid_options(options, {field, "Too long: may not be more than " +
                                                std::to_string(kManagerBytesMax) + " bytes"});
  }
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != 0x7F) continue;
    return invalid_options(options,
                           {field, "Invalid value: it has a character that is not printed"});
  }
  return {};
}

VersionMatch match_of(std::string_view text) {
  if (text == "Exact") return VersionMatch::kExact;
  return text == "NotOlderThan" ? VersionMatch::kNotOlderThan : VersionMatch::kUnset;
}

base::Error forbidden_option(std::string_view name, std::string_view why) {
  return invalid_options(kListOptions, {std::string(name), "Forbidden: " + std::string(why)});
}

base::Error forbidden_match(std::string_view why) {
  return forbidden_option("resourceVersionMatch", why);
}

base::Status check_watch_query(const ApiQuery& query) {
  const bool not_older = query.version_match == VersionMatch::kNotOlderThan;
  if (query.send_initial_events && !not_older) {
    return forbidden_match(
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  if (query.version_match_text.empty()) return {};
  if (!query.send_initial_events) {
    return forbidden_match(
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  }
  if (query.continue_token.empty()) return {};
  return forbidden_match("resourceVersionMatch is forbidden when continue is provided");
}

base::Status read_write_parameter(ApiQuery& query, std::string_view options, std::string_view name,
                                  std::string_view value) {
  if (name == "dryRun") {
    AT_TRY(query.write.dry_run, parse_dry_run(options, value));
  } else if (name == "fieldManager") {
    AT_OK(check_manager(options, value));
  } else if (name == "fieldValidation") {
    AT_TRY(query.write.field_validation, parse_validation(options, value));
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

base::Result<IncludeObject> parse_include(std::string_view text) {
  if (text == "Metadata") return IncludeObject::kMetadata;
  if (text == "Object") return IncludeObject::kWhole;
  if (text == "None") return IncludeObject::kNone;
  return bad_request("includeObject: must be Metadata, Object or None, not " + quoted(text));
}

base::Result<std::size_t> parse_limit(std::string_view name, std::string_view value) {
  AT_TRY(const std::int64_t limit, parse_number(name, value));
  return static_cast<std::size_t>(std::max<std::int64_t>(limit, 0));
}

base::Status check_version(std::string_view name, std::string_view value) {
  AT_TRY(const std::int64_t version, parse_number(name, value));
  if (version >= 0) return {};
  return bad_request(std::string(name) + ": must not be negative");
}

base::Status read_parameter(ApiQuery& query, std::string_view options, const std::string& name,
                            const std::string& value) {
  if (name == "labelSelector") {
    query.label_selector = value;
  } else if (name == "fieldSelector") {
    query.field_selector = value;
  } else if (name == "continue") {
    query.continue_token = value;
  } else if (name == "resourceVersion") {
    if (!value.empty()) AT_OK(check_version(name, value));
    query.resource_version = value;
  } else if (value.empty() && name != "watch") {
    return {};
  } else if (name == "limit") {
    AT_TRY(query.limit, parse_limit(name, value));
  } else if (name == "includeObject") {
    AT_TRY(query.include_object, parse_include(value));
  } else if (name == "timeoutSeconds") {
    AT_TRY(query.timeout_seconds, parse_number(name, value));
  } else if (name == "resourceVersionMatch") {
    query.version_match_text = value;
    query.version_match = match_of(value);
  } else {
    AT_OK(read_flag_parameter(query, name, value));
    AT_OK(read_write_parameter(query, options, name, value));
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
  const bool orphans = orphan && orphan->is_bool();
  if (orphans && !policy.empty()) {
    return invalid_options(
        kDeleteOptions,
        {"propagationPolicy", "Invalid value: " + quoted(policy) +
                                  ": orphanDependents and deletionPropagation cannot be both set"});
  }
  const json::array* dry = find_array(options, "dryRun");
  for (std::size_t i = 0; dry && i < dry->size(); ++i) {
    const json::string* value = (*dry)[i].if_string();
    AT_TRY(removal.dry_run, parse_dry_run(kDeleteOptions, value ? view(*value) : "?"));
  }
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

base::Result<ApiQuery> parse_api_query(std::string_view method, const http::Target& target) {
  ApiQuery query;
  const std::string_view options = options_of(method);
  for (const auto& [name, value] : target.query) {
    AT_OK(read_parameter(query, options, name, value));
  }
  return query;
}

base::Status check_list_query(const ApiQuery& query) {
  if (!query.version_match_text.empty() && query.version_match == VersionMatch::kUnset) {
    return unsupported(kListOptions, "resourceVersionMatch", quoted(query.version_match_text),
                       query.watch ? R"("NotOlderThan")" : R"("Exact", "NotOlderThan", "")");
  }
  if (query.watch) return check_watch_query(query);
  if (query.send_initial_events) {
    return forbidden_option("sendInitialEvents", "sendInitialEvents is forbidden for list");
  }
  const bool pages_on = !query.continue_token.empty();
  if (!query.version_match_text.empty()) {
    if (query.resource_version.empty()) {
      return forbidden_match(
          "resourceVersionMatch is forbidden unless resourceVersion is provided");
    }
    if (pages_on) {
      return forbidden_match("resourceVersionMatch is forbidden when continue is provided");
    }
    if (query.version_match == VersionMatch::kExact && query.resource_version == "0") {
      return forbidden_match(
          R"(resourceVersionMatch "exact" is forbidden for resourceVersion "0")");
    }
  }
  if (pages_on && !query.resource_version.empty() && query.resource_version != "0") {
    return bad_request("specifying resource version is not allowed when using continue");
  }
  return {};
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
