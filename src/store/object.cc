#include "store/object.h"

#include <algorithm>
#include <boost/json/serialize.hpp>

namespace agenttier::store {
namespace {

std::string scalar_text(const json::value& value) {
  if (const json::string* text = value.if_string()) return std::string(view(*text));
  if (value.is_object() || value.is_array() || value.is_null()) return "";
  return json::serialize(value);
}

std::vector<std::pair<std::string, std::string>> labels_of(const json::object& value) {
  std::vector<std::pair<std::string, std::string>> labels;
  const json::object* found = find_object(value, "metadata.labels");
  if (!found) return labels;
  labels.reserve(found->size());
  for (const auto& [key, label] : *found) {
    if (const json::string* text = label.if_string()) labels.emplace_back(key, view(*text));
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

std::vector<std::string> fields_of(const Resource& resource, const json::object& value) {
  std::vector<std::string> fields;
  fields.reserve(resource.fields.size());
  for (const SelectableField& field : resource.fields) {
    const bool elsewhere = !field.value_path.empty();
    const json::value* found = find_path(value, elsewhere ? field.value_path : field.path);
    fields.push_back(found ? scalar_text(*found) : std::string(field.absent));
  }
  return fields;
}

std::vector<std::string> owners_of(const json::object& value) {
  std::vector<std::string> owners;
  const json::array* references = find_array(value, "metadata.ownerReferences");
  if (!references) return owners;
  for (const json::value& reference : *references) {
    if (!reference.is_object()) continue;
    owners.emplace_back(find_text(reference.get_object(), "uid"));
  }
  return owners;
}

ObjectPtr build(const ObjectIdentity& identity, const json::object& value, std::string text) {
  auto object = std::make_shared<StoredObject>();
  object->resource = identity.resource;
  object->row = identity.row;
  object->version = identity.version;
  object->written_at = identity.written_at;
  object->ns = find_text(value, "metadata.namespace");
  object->name = find_text(value, "metadata.name");
  object->uid = find_text(value, "metadata.uid");
  object->labels = labels_of(value);
  object->fields = fields_of(*identity.resource, value);
  object->owners = owners_of(value);
  object->deleting = find_path(value, "metadata.deletionTimestamp") != nullptr;
  text.shrink_to_fit();
  object->text = std::move(text);
  return object;
}

}  // namespace

ObjectPtr make_object(const ObjectIdentity& identity, const json::object& value) {
  return build(identity, value, json::serialize(value));
}

base::Result<ObjectPtr> restore_object(const ObjectIdentity& identity, std::string text) {
  AT_TRY(const json::value value, parse_json(text));
  const json::object* object = value.if_object();
  if (!object || !find_object(*object, "metadata")) {
    return base::internal("row " + std::to_string(identity.row) + " is not an object");
  }
  return build(identity, *object, std::move(text));
}

json::object parse_object(const StoredObject& object) {
  auto parsed = parse_json(object.text);
  AT_ASSERT(parsed && parsed->is_object());
  return std::move(parsed->get_object());
}

ObjectPtr at_version(const StoredObject& object, std::uint64_t version) {
  json::object value = parse_object(object);
  json::object& metadata = object_at(value, "metadata");
  metadata["resourceVersion"] = std::to_string(version);
  if (version == 0) metadata.erase("resourceVersion");
  return make_object({object.resource, object.row, version, object.written_at}, value);
}

}  // namespace agenttier::store
