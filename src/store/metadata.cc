#include "store/metadata.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <set>
#include <utility>

#include "base/time_format.h"
#include "store/api_error.h"
#include "store/names.h"

namespace agenttier::store {
namespace {

enum class FieldShape { kText, kNumber, kTextMap, kTextList, kReferences, kIgnored };

struct FieldRule {
  std::string_view name;
  FieldShape shape;
};

// In the order in which they are written.
constexpr FieldRule kFields[] = {
    {"name", FieldShape::kText},
    {"generateName", FieldShape::kText},
    {"namespace", FieldShape::kText},
    {"uid", FieldShape::kText},
    {"resourceVersion", FieldShape::kText},
    {"generation", FieldShape::kNumber},
    {"creationTimestamp", FieldShape::kText},
    {"deletionTimestamp", FieldShape::kText},
    {"deletionGracePeriodSeconds", FieldShape::kNumber},
    {"labels", FieldShape::kTextMap},
    {"annotations", FieldShape::kTextMap},
    {"ownerReferences", FieldShape::kReferences},
    {"finalizers", FieldShape::kTextList},
    {"managedFields", FieldShape::kIgnored},
    {"selfLink", FieldShape::kIgnored},
    {"clusterName", FieldShape::kIgnored},
};
constexpr std::string_view kWrittenByClients[] = {"labels", "annotations", "ownerReferences",
                                                  "finalizers"};

const FieldRule* find_rule(std::string_view name) {
  for (const FieldRule& rule : kFields) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

bool all_text(const json::array& array) {
  return std::all_of(array.begin(), array.end(), [](const auto& v) { return v.is_string(); });
}

bool all_text(const json::object& object) {
  return std::all_of(object.begin(), object.end(),
                     [](const auto& member) { return member.value().is_string(); });
}

bool is_reference(const json::value& value) {
  const json::object* reference = value.if_object();
  if (!reference) return false;
  for (const std::string_view name : {"apiVersion", "kind", "name", "uid"}) {
    const json::value* member = reference->if_contains(name);
    if (member && !member->is_string()) return false;
  }
  for (const std::string_view name : {"controller", "blockOwnerDeletion"}) {
    const json::value* member = reference->if_contains(name);
    if (member && !member->is_bool() && !member->is_null()) return false;
  }
  return true;
}

bool has_shape(FieldShape shape, const json::value& value) {
  switch (shape) {
    case FieldShape::kText:
      return value.is_string();
    case FieldShape::kNumber:
      return value.is_int64() || value.is_uint64();
    case FieldShape::kTextMap:
      return value.is_object() && all_text(value.get_object());
    case FieldShape::kTextList:
      return value.is_array() && all_text(value.get_array());
    case FieldShape::kReferences:
      return value.is_array() &&
             std::all_of(value.get_array().begin(), value.get_array().end(), is_reference);
    case FieldShape::kIgnored:
      return true;
  }
  return false;
}

std::string_view expected(FieldShape shape) {
  switch (shape) {
    case FieldShape::kText:
      return "a string";
    case FieldShape::kNumber:
      return "an integer";
    case FieldShape::kTextMap:
      return "an object whose values are strings";
    case FieldShape::kTextList:
      return "an array of strings";
    default:
      return "an array of owner references";
  }
}

void drop_null_values(json::value& value) {
  json::object* object = value.if_object();
  if (!object) return;
  for (auto it = object->begin(); it != object->end();) {
    it = it->value().is_null() ? object->erase(it) : it + 1;
  }
}

using Causes = std::vector<base::FieldCause>;

std::string invalid_value(std::string_view value, const std::string& why) {
  return "Invalid value: " + json::serialize(json::value(value)) + ": " + why;
}

void check_name(const Resource& resource, const json::object& metadata, Causes& causes) {
  const std::string_view name = find_text(metadata, "name");
  if (!name.empty()) {
    const std::string why = name_fault(resource.name_rule, name);
    if (!why.empty()) causes.push_back({"metadata.name", invalid_value(name, why)});
  }
  std::string_view prefix = find_text(metadata, "generateName");
  if (!name.empty() || prefix.empty()) return;
  // What follows the prefix makes a trailing '-' or '.' right.
  const std::string why = name_fault(resource.name_rule, std::string(prefix) + "x");
  if (!why.empty()) causes.push_back({"metadata.generateName", invalid_value(prefix, why)});
}

void check_labels(const json::object& metadata, Causes& causes) {
  const json::object* labels = find_object(metadata, "labels");
  if (!labels) return;
  for (const auto& [key, value] : *labels) {
    const std::string_view text = view(value.get_string());
    if (const std::string why = qualified_name_fault(key); !why.empty()) {
      causes.push_back({"metadata.labels", invalid_value(key, why)});
    }
    if (const std::string why = label_value_fault(text); !why.empty()) {
      causes.push_back({"metadata.labels", invalid_value(text, why)});
    }
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

void check_annotations(const json::object& metadata, Causes& causes) {
  const json::object* annotations = find_object(metadata, "annotations");
  if (!annotations) return;
  std::size_t bytes = 0;
  for (const auto& [key, value] : *annotations) {
    bytes += key.size() + value.get_string().size();
    if (const std::string why = qualified_name_fault(lower(key)); !why.empty()) {
      causes.push_back({"metadata.annotations", invalid_value(key, why)});
    }
  }
  if (bytes > kAnnotationsBytesMax) {
    causes.push_back({"metadata.annotations", "Too long: may not be more than " +
                                                  std::to_string(kAnnotationsBytesMax) + " bytes"});
  }
}

void check_owners(const json::object& metadata, Causes& causes) {
  const json::array* owners = find_array(metadata, "ownerReferences");
  if (!owners) return;
  std::string first_controller;
  for (const json::value& entry : *owners) {
    const json::object& owner = entry.get_object();
    for (const std::string_view name : {"apiVersion", "kind", "name", "uid"}) {
      if (!find_text(owner, name).empty()) continue;
      const bool is_version = name == "apiVersion";
      causes.push_back(
          {"metadata.ownerReferences." + std::string(name),
           invalid_value("", is_version ? "version must not be empty" : "must not be empty")});
    }
    if (find_text(owner, "apiVersion") == "v1" && find_text(owner, "kind") == "Event") {
      causes.push_back(
          {"metadata.ownerReferences", "Invalid value: " + json::serialize(owner) +
                                           ": /v1, Kind=Event is disallowed from being an owner"});
    }
    const json::value* controller = owner.if_contains("controller");
    if (!controller || *controller != json::value(true)) continue;
    const std::string own =
        std::string(find_text(owner, "kind")) + "/" + std::string(find_text(owner, "name"));
    if (!first_controller.empty()) {
      causes.push_back({"metadata.ownerReferences",
                        "Invalid value: " + json::serialize(*owners) +
                            ": Only one reference can have Controller set to true. Found \"true\" "
                            "in references for " +
                            first_controller + " and " + own});
    }
    if (first_controller.empty()) first_controller = own;
  }
}

bool is_standard_finalizer(std::string_view name) {
  return name == "orphan" || name == "foregroundDeletion" || name == "kubernetes";
}

void check_finalizers(const Resource& resource, const json::object& metadata, Causes& causes) {
  const json::array* finalizers = find_array(metadata, "finalizers");
  if (!finalizers) return;
  for (const json::value& finalizer : *finalizers) {
    const std::string_view name = view(finalizer.get_string());
    if (const std::string why = qualified_name_fault(name); !why.empty()) {
      causes.push_back({"metadata.finalizers", invalid_value(name, why)});
    }
  }
  for (std::size_t i = 0; !resource.is_custom && i < finalizers->size(); ++i) {
    const std::string_view name = view((*finalizers)[i].get_string());
    if (name.find('/') != std::string_view::npos || is_standard_finalizer(name)) continue;
    causes.push_back(
        {"metadata.finalizers[" + std::to_string(i) + "]",
         invalid_value(name,
                       "name is neither a standard finalizer name nor is it fully qualified")});
  }
}

bool is_empty(const json::value& value) {
  if (const json::object* object = value.if_object()) return object->empty();
  if (const json::array* array = value.if_array()) return array->empty();
  const json::string* text = value.if_string();
  return text && text->empty();
}

// The fields in their order, without empty ones.
json::object ordered(json::object fields) {
  json::object metadata;
  for (const FieldRule& rule : kFields) {
    json::value* value = fields.if_contains(rule.name);
    if (!value || rule.shape == FieldShape::kIgnored || is_empty(*value)) continue;
    metadata[rule.name] = std::move(*value);
  }
  return metadata;
}

bool is_written_by_clients(std::string_view name) {
  return std::find(std::begin(kWrittenByClients), std::end(kWrittenByClients), name) !=
         std::end(kWrittenByClients);
}

}  // namespace

base::Status check_type(const Resource& resource, const json::object& body) {
  const json::value* version = body.if_contains("apiVersion");
  const json::value* kind = body.if_contains("kind");
  const std::string wanted = resource.api_version() + " " + std::string(resource.type.kind);
  const bool right = (!version || *version == json::value(resource.api_version())) &&
                     (!kind || *kind == json::value(resource.type.kind));
  if (right) return {};
  const auto text = [](const json::value* value) {
    return value && value->is_string() ? std::string(view(value->get_string())) : std::string("?");
  };
  return bad_request("the body is a " + text(version) + " " + text(kind) +
                     ", but this path takes a " + wanted);
}

base::Result<json::object> read_metadata(const json::object& body,
                                         std::vector<std::string>* unknown) {
  const json::value* given = body.if_contains("metadata");
  if (!given || given->is_null()) return json::object();
  if (!given->is_object()) return bad_request("metadata: must be an object");
  json::object metadata;
  for (const auto& [key, member] : given->get_object()) {
    if (member.is_null()) continue;
    const FieldRule* rule = find_rule(key);
    if (!rule) {
      if (unknown) unknown->push_back("metadata." + std::string(key));
      continue;
    }
    json::value value = member;
    drop_null_values(value);
    if (!has_shape(rule->shape, value)) {
      return bad_request("metadata." + std::string(key) + ": must be " +
                         std::string(expected(rule->shape)));
    }
    metadata[key] = std::move(value);
  }
  return metadata;
}

std::vector<std::string> drop_double_owners(json::object& metadata) {
  std::vector<std::string> twice;
  json::value* member = metadata.if_contains("ownerReferences");
  if (!member) return twice;
  std::set<std::string> seen;
  json::array kept;
  for (json::value& reference : member->get_array()) {
    std::string uid(find_text(reference.get_object(), "uid"));
    const bool is_new = uid.empty() || seen.insert(uid).second;
    if (is_new) {
      kept.push_back(std::move(reference));
    } else {
      twice.push_back(std::move(uid));
    }
  }
  *member = std::move(kept);
  return twice;
}

std::vector<base::FieldCause> check_metadata(const Resource& resource,
                                             const json::object& metadata) {
  Causes causes;
  if (find_text(metadata, "name").empty() && find_text(metadata, "generateName").empty()) {
    causes.push_back({"metadata.name", "Required value: name or generateName is required"});
  }
  check_name(resource, metadata, causes);
  check_labels(metadata, causes);
  check_annotations(metadata, causes);
  check_owners(metadata, causes);
  check_finalizers(resource, metadata, causes);
  return causes;
}

json::object new_metadata(const Resource& resource, json::object written, NewIdentity identity) {
  for (const std::string_view name :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "generation"}) {
    written.erase(name);
  }
  written["name"] = identity.name;
  written["namespace"] = identity.ns;
  written["uid"] = identity.uid;
  written["creationTimestamp"] = base::format_rfc3339(identity.now);
  if (resource.has_generation) written["generation"] = 1;
  return ordered(std::move(written));
}

json::object updated_metadata(const json::object& before, json::object written) {
  json::object metadata = before;
  for (const std::string_view name : kWrittenByClients) metadata.erase(name);
  for (auto& member : written) {
    const std::string_view name(member.key().data(), member.key().size());
    if (is_written_by_clients(name)) metadata[name] = std::move(member.value());
  }
  return ordered(std::move(metadata));
}

std::vector<std::string> finalizers_of(const json::object& object) {
  std::vector<std::string> names;
  const json::array* list = find_array(object, "metadata.finalizers");
  if (!list) return names;
  for (const json::value& name : *list) {
    if (name.is_string()) names.emplace_back(view(name.get_string()));
  }
  return names;
}

void set_finalizers(json::object& object, const std::vector<std::string>& finalizers) {
  json::object& metadata = object_at(object, "metadata");
  if (finalizers.empty()) {
    metadata.erase("finalizers");
  } else {
    metadata["finalizers"] = json::array(finalizers.begin(), finalizers.end());
  }
}

bool is_deleting(const json::object& object) {
  return find_path(object, "metadata.deletionTimestamp") != nullptr;
}

}  // namespace agenttier::store
