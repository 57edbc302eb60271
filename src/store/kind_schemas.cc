#include "store/kind_schemas.h"

#include <optional>
#include <vector>

#include "api/crds.h"

namespace agenttier::store {
namespace {

std::vector<std::optional<Schema>> parse_schemas() {
  std::vector<std::optional<Schema>> schemas(all_resources().size());
  for (const Resource& resource : all_resources()) {
    const api::KindInfo* kind = api::find_kind(resource.type.kind);
    if (!kind || kind->schema.empty()) continue;
    auto definition = parse_json(kind->schema);
    AT_ASSERT(definition);
    auto schema = Schema::parse(*definition);
    AT_ASSERT(schema);
    schemas[resource.index] = *std::move(schema);
  }
  return schemas;
}

}  // namespace

const Schema* find_schema(const Resource& resource) {
  static const std::vector<std::optional<Schema>> schemas = parse_schemas();
  const auto& schema = schemas[resource.index];
  return schema ? &*schema : nullptr;
}

}  // namespace agenttier::store
