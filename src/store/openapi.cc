// The OpenAPI documents by which kubectl learns that the server validates fields and how our kinds
// look: one path per kind, the schemas of our kinds.

#include <boost/json/serialize.hpp>
#include <map>
#include <utility>

#include "api/crds.h"
#include "store/discovery.h"
#include "store/json.h"
#include "store/resource.h"

namespace agenttier::store {
namespace {

constexpr std::string_view kRoot = "/openapi/v3";

std::string base_path(const Resource& resource) {
  return (resource.type.group.empty() ? "api/" : "apis/") + resource.api_version();
}

json::object type_of(const Resource& resource) {
  return {{"group", resource.type.group},
          {"version", resource.type.version},
          {"kind", resource.type.kind}};
}

std::string schema_name(const Resource& resource) {
  const std::string group(resource.type.group.empty() ? "core" : resource.type.group);
  return group + "." + std::string(resource.type.version) + "." + std::string(resource.type.kind);
}

json::object parameter(std::string_view name) {
  return {{"name", name},
          {"in", "query"},
          {"schema", json::object{{"type", "string"}, {"uniqueItems", true}}}};
}

json::object operation(const Resource& resource, std::string_view action) {
  return {{"operationId", std::string(action) + std::string(resource.type.kind)},
          {"x-kubernetes-action", action},
          {"x-kubernetes-group-version-kind", type_of(resource)},
          {"parameters", json::array{parameter("dryRun"), parameter("fieldManager"),
                                     parameter("fieldValidation")}},
          {"responses", json::object{{"200", json::object{{"description", "OK"}}}}}};
}

json::object describe_schema(const Resource& resource) {
  const api::KindInfo* kind = api::find_kind(resource.type.kind);
  json::object schema{{"type", "object"}};
  if (kind && !kind->schema.empty()) schema = parse_json(kind->schema).value().as_object();
  schema["x-kubernetes-group-version-kind"] = json::array{type_of(resource)};
  return schema;
}

std::string describe_paths(std::string_view base) {
  json::object paths;
  json::object schemas;
  for (const Resource& resource : all_resources()) {
    if (base_path(resource) != base) continue;
    const std::string ns = resource.type.namespaced ? "namespaces/{namespace}/" : "";
    const std::string collection =
        "/" + std::string(base) + "/" + ns + std::string(resource.type.plural);
    paths[collection] = json::object{{"post", operation(resource, "post")}};
    paths[collection + "/{name}"] =
        json::object{{"put", operation(resource, "put")}, {"patch", operation(resource, "patch")}};
    schemas[schema_name(resource)] = describe_schema(resource);
  }
  return json::serialize(json::object{
      {"openapi", "3.0.0"},
      {"info", json::object{{"title", "AgentTier store"}, {"version", AGENTTIER_VERSION}}},
      {"paths", std::move(paths)},
      {"components", json::object{{"schemas", std::move(schemas)}}}});
}

std::string describe_root() {
  json::object paths;
  for (const Resource& resource : all_resources()) {
    const std::string base = base_path(resource);
    paths[base] = json::object{{"serverRelativeURL", std::string(kRoot) + "/" + base}};
  }
  return json::serialize(json::object{{"paths", std::move(paths)}});
}

}  // namespace

std::optional<std::string> openapi_document(std::string_view path) {
  if (!path.starts_with(kRoot)) return std::nullopt;
  path.remove_prefix(kRoot.size());
  if (path.empty() || path == "/") return describe_root();
  path.remove_prefix(1);
  for (const Resource& resource : all_resources()) {
    if (base_path(resource) == path) return describe_paths(path);
  }
  return std::nullopt;
}

}  // namespace agenttier::store
