#include "store/discovery.h"

#include <boost/json/serialize.hpp>
#include <set>

#include "store/json.h"
#include "store/resource.h"

namespace agenttier::store {
namespace {

// The version of the Kubernetes API that the kinds and rules here are those of.
constexpr std::string_view kMinorVersion = "34";

json::array verbs_of(const Resource& resource) {
  if (!resource.deletes_collection) {
    return {"create", "delete", "get", "list", "patch", "update", "watch"};
  }
  return {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
}

json::object describe(const Resource& resource) {
  json::object entry{{"name", resource.type.plural},
                     {"singularName", resource.singular},
                     {"namespaced", resource.type.namespaced},
                     {"kind", resource.type.kind},
                     {"verbs", verbs_of(resource)}};
  if (!resource.short_names.empty()) {
    entry["shortNames"] = json::array(resource.short_names.begin(), resource.short_names.end());
  }
  if (!resource.categories.empty()) {
    entry["categories"] = json::array(resource.categories.begin(), resource.categories.end());
  }
  return entry;
}

json::object describe_subresource(const Resource& resource, std::string_view name,
                                  std::string_view kind, json::array allowed) {
  return {{"name", std::string(resource.type.plural) + "/" + std::string(name)},
          {"singularName", ""},
          {"namespaced", resource.type.namespaced},
          {"kind", kind},
          {"verbs", std::move(allowed)}};
}

std::optional<std::string> resource_list(std::string_view group, std::string_view version) {
  json::array entries;
  std::string api_version;
  for (const Resource& resource : all_resources()) {
    if (resource.type.group != group || resource.type.version != version) continue;
    api_version = resource.api_version();
    entries.push_back(describe(resource));
    if (resource.has_status) {
      entries.push_back(
          describe_subresource(resource, "status", resource.type.kind, {"get", "patch", "update"}));
    }
    if (&resource == &pods()) {
      entries.push_back(describe_subresource(resource, "binding", "Binding", {"create"}));
    }
  }
  if (entries.empty()) return std::nullopt;
  return json::serialize(json::object{{"kind", "APIResourceList"},
                                      {"apiVersion", "v1"},
                                      {"groupVersion", api_version},
                                      {"resources", std::move(entries)}});
}

json::object describe_group(std::string_view name, std::string_view version) {
  const json::object entry{{"groupVersion", std::string(name) + "/" + std::string(version)},
                           {"version", version}};
  return {{"name", name}, {"versions", json::array{entry}}, {"preferredVersion", entry}};
}

std::string group_list() {
  json::array groups;
  std::set<std::string_view> seen;
  for (const Resource& resource : all_resources()) {
    if (resource.type.group.empty() || !seen.insert(resource.type.group).second) continue;
    groups.push_back(describe_group(resource.type.group, resource.type.version));
  }
  return json::serialize(
      json::object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}});
}

std::optional<std::string> group(std::string_view name) {
  for (const Resource& resource : all_resources()) {
    if (name.empty() || resource.type.group != name) continue;
    json::object description = describe_group(name, resource.type.version);
    description["kind"] = "APIGroup";
    description["apiVersion"] = "v1";
    return json::serialize(description);
  }
  return std::nullopt;
}

std::string version_document() {
  return json::serialize(json::object{
      {"major", "1"},
      {"minor", kMinorVersion},
      {"gitVersion", "v1." + std::string(kMinorVersion) + ".0+agenttier." AGENTTIER_VERSION},
      {"platform", "linux/amd64"}});
}

}  // namespace

std::optional<std::string> discovery_document(std::string_view path) {
  if (path == "/version") return version_document();
  if (path == "/apis" || path == "/apis/") return group_list();
  if (path == "/api" || path == "/api/") {
    return json::serialize(json::object{{"kind", "APIVersions"}, {"versions", json::array{"v1"}}});
  }
  if (path == "/api/v1") return resource_list("", "v1");
  if (path.starts_with("/openapi/")) return openapi_document(path);
  constexpr std::string_view kGroups = "/apis/";
  if (!path.starts_with(kGroups)) return std::nullopt;
  path.remove_prefix(kGroups.size());
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return group(path);
  const std::string_view version = path.substr(slash + 1);
  if (slash == 0 || version.find('/') != std::string_view::npos) return std::nullopt;
  return resource_list(path.substr(0, slash), version);
}

}  // namespace agenttier::store
