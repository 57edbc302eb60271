#include "store/object_writer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "store/api_error.h"
#include "store/kind_rules.h"
#include "store/kind_schemas.h"
#include "store/metadata.h"
#include "store/names.h"

namespace agenttier::store {
namespace {

constexpr int kGeneratedNameTries = 8;
constexpr std::string_view kStale =
    "the object has been modified; please apply your changes to the latest version and try again";

using Causes = std::vector<base::FieldCause>;

void append(Causes& causes, Causes more) {
  causes.insert(causes.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

// apiVersion, kind and metadata first, then the body's members, status last.
json::object assemble(const Resource& resource, json::object metadata, json::object body,
                      const json::value* status) {
  json::object object;
  object.reserve(body.size() + 4);
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.type.kind;
  object["metadata"] = std::move(metadata);
  for (auto& member : body) {
    if (object.contains(member.key()) || member.value().is_null()) continue;
    if (resource.has_status && member.key() == "status") continue;
    object[member.key()] = std::move(member.value());
  }
  if (resource.has_status && status) object["status"] = *status;
  return object;
}

// Removes unknown fields and fills in defaults of the kind; gives the unknown fields.
std::vector<std::string> shape(const Resource& resource, json::object& object) {
  std::vector<std::string> unknown;
  if (const Schema* schema = find_schema(resource)) {
    if (resource.is_custom) unknown = schema->prune(object);
    schema->apply_defaults(object);
  }
  apply_kind_defaults(resource, object);
  return unknown;
}

base::Status check_unknown(const Resource& resource, const WriteOptions& options,
                           std::vector<std::string>& unknown) {
  std::sort(unknown.begin(), unknown.end());
  if (options.field_validation != FieldValidation::kStrict || unknown.empty()) return {};
  std::string list;
  for (const std::string& field : unknown) {
    list += (list.empty() ? "unknown field \"" : ", unknown field \"") + field + "\"";
  }
  const std::string kind(resource.type.kind);
  return bad_request(kind + " in version \"" + std::string(resource.type.version) +
                     "\" cannot be handled as a " + kind + ": strict decoding error: " + list);
}

void keep_owners_once(json::object& metadata, WriteOutcome& outcome) {
  std::string list;
  for (const std::string& uid : drop_double_owners(metadata)) {
    list += (list.empty() ? "" : ", ") + uid;
  }
  if (list.empty()) return;
  outcome.notices.push_back("metadata.ownerReferences names an owner twice; it is kept once: " +
                            list);
}

// Whether all but metadata and status is equal: what the generation counts.
bool same_intent(const json::object& before, const json::object& after) {
  const auto counts = [](std::string_view name) { return name != "metadata" && name != "status"; };
  for (const auto& [key, value] : after) {
    const json::value* old_value = before.if_contains(key);
    if (counts(key) && (!old_value || *old_value != value)) return false;
  }
  for (const auto& [key, value] : before) {
    if (counts(key) && !after.contains(key)) return false;
  }
  return true;
}

Causes check_new_finalizers(const json::object& before, const json::object& after) {
  if (!is_deleting(before)) return {};
  const auto old_names = finalizers_of(before);
  std::set<std::string> added;
  for (std::string& name : finalizers_of(after)) {
    const bool is_old = std::find(old_names.begin(), old_names.end(), name) != old_names.end();
    if (!is_old) added.insert(std::move(name));
  }
  if (added.empty()) return {};
  std::string list;
  for (const std::string& name : added) list += (list.empty() ? "\"" : ", \"") + name + "\"";
  return {{"metadata.finalizers",
           "Forbidden: no new finalizers can be added if the object is being deleted, found new "
           "finalizers []string{" +
               list + "}"}};
}

void bump_generation(json::object& object) {
  json::object& metadata = object_at(object, "metadata");
  json::value& generation = metadata["generation"];
  generation = generation.is_int64() ? generation.get_int64() + 1 : 1;
}

base::Status check_place(const ObjectPlace& place, const json::object& metadata) {
  const std::string_view ns = find_text(metadata, "namespace");
  if (place.resource->type.namespaced && !ns.empty() && ns != place.ns) {
    return bad_request(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  const std::string_view name = find_text(metadata, "name");
  if (!place.name.empty() && !name.empty() && name != place.name) {
    return bad_request("the name of the object (" + std::string(name) +
                       ") does not match the name on the URL (" + place.name + ")");
  }
  return {};
}

}  // namespace

base::Status ObjectWriter::check_namespace(const ObjectPlace& place, std::string_view name) const {
  if (!place.resource->type.namespaced) return {};
  const ObjectPtr ns = latest_.find(namespaces(), "", place.ns);
  if (!ns) return object_not_found(namespaces(), place.ns);
  if (!ns->deleting) return {};
  base::Error error = forbidden(
      *place.resource, name,
      "unable to create new content in namespace " + place.ns + " because it is being terminated");
  error.causes = {{"metadata.namespace", "namespace " + place.ns + " is being terminated"}};
  return error;
}

base::Result<std::string> ObjectWriter::choose_name(const ObjectPlace& place,
                                                    const json::object& metadata) {
  const std::string name(find_text(metadata, "name"));
  if (!name.empty()) {
    if (latest_.find(*place.resource, place.ns, name)) return already_exists(*place.resource, name);
    return name;
  }
  constexpr std::size_t prefix_max = kGeneratedNameMax - kGeneratedSuffixLength;
  const std::string prefix(find_text(metadata, "generateName").substr(0, prefix_max));
  for (int i = 0; i < kGeneratedNameTries; ++i) {
    std::string generated = prefix + latest_.random().suffix(kGeneratedSuffixLength);
    if (!latest_.find(*place.resource, place.ns, generated)) return generated;
  }
  return already_exists(*place.resource, prefix);
}

base::Status ObjectWriter::check_object(const Resource& resource, const json::object& object,
                                        Causes causes) const {
  if (json_depth(object) > kJsonDepthMax) {
    return bad_request("the object is nested deeper than " + std::to_string(kJsonDepthMax) +
                       " levels");
  }
  append(causes, check_metadata(resource, *find_object(object, "metadata")));
  if (const Schema* schema = find_schema(resource)) append(causes, schema->validate(object));
  append(causes, check_kind(resource, object));
  if (causes.empty()) return {};
  return invalid_object(resource, find_text(object, "metadata.name"), std::move(causes));
}

base::Result<ObjectPtr> ObjectWriter::finish(const Resource& resource, const ObjectPtr& before,
                                             json::object object, const WriteOptions& options) {
  const ObjectPtr prepared = latest_.prepare(resource, before, std::move(object));
  if (prepared->text.size() > object_bytes_max_) {
    return too_large("the object takes " + std::to_string(prepared->text.size()) +
                     " bytes; at most " + std::to_string(object_bytes_max_) + " are allowed");
  }
  // A dry run shows the version that is, not the one that would be.
  if (options.dry_run == DryRun::kYes) return at_version(*prepared, before ? before->version : 0);
  latest_.put(before, prepared);
  remover_.settle_after_write(prepared);
  return prepared;
}

base::Result<WriteOutcome> ObjectWriter::create(const ObjectPlace& place, json::object body,
                                                const WriteOptions& options) {
  const Resource& resource = *place.resource;
  WriteOutcome outcome;
  AT_OK(check_type(resource, body));
  AT_TRY(json::object metadata, read_metadata(body, &outcome.unknown_fields));
  keep_owners_once(metadata, outcome);
  AT_OK(check_place(place, metadata));
  if (!find_text(metadata, "resourceVersion").empty()) {
    return bad_request("resourceVersion should not be set on objects to be created");
  }
  AT_OK(check_namespace(place, find_text(metadata, "name")));
  // Faults of the name come before a name is chosen from it.
  if (Causes causes = check_metadata(resource, metadata); !causes.empty()) {
    return invalid_object(resource, find_text(metadata, "name"), std::move(causes));
  }
  AT_TRY(const std::string name, choose_name(place, metadata));
  metadata = new_metadata(resource, std::move(metadata),
                          {place.ns, name, latest_.random().uuid(), latest_.now()});
  const json::value sent_status = body.contains("status") ? body.at("status") : json::value();
  const bool keeps = resource.keeps_status_on_create && sent_status.is_object();
  json::object object =
      assemble(resource, std::move(metadata), std::move(body), keeps ? &sent_status : nullptr);
  for (std::string& field : shape(resource, object)) {
    outcome.unknown_fields.push_back(std::move(field));
  }
  apply_first_status(resource, object);
  AT_OK(check_unknown(resource, options, outcome.unknown_fields));
  AT_OK(check_object(resource, object, {}));
  AT_TRY(outcome.object, finish(resource, nullptr, std::move(object), options));
  return outcome;
}

base::Result<WriteOutcome> ObjectWriter::update(const ObjectPlace& place, Part part,
                                                json::object body, const WriteOptions& options) {
  const ObjectPtr before = latest_.find(*place.resource, place.ns, place.name);
  if (!before) return object_not_found(*place.resource, place.name);
  return write(before, part, Verb::kUpdate, std::move(body), options);
}

base::Result<WriteOutcome> ObjectWriter::patch(const ObjectPlace& place, Part part, PatchType type,
                                               const json::value& patch,
                                               const WriteOptions& options) {
  const Resource& resource = *place.resource;
  if (type == PatchType::kStrategicMerge && resource.is_custom) {
    return unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json");
  }
  const ObjectPtr before = latest_.find(resource, place.ns, place.name);
  if (!before) return object_not_found(resource, place.name);
  auto patched = apply_patch(type, parse_object(*before), patch);
  if (!patched) return std::move(patched).error();
  if (!patched->is_object()) return bad_request("the patched value is not an object");
  return write(before, part, Verb::kPatch, std::move(patched->get_object()), options);
}

base::Status ObjectWriter::check_preconditions(const ObjectPtr& before, Verb verb,
                                               const json::object& metadata) const {
  const Resource& resource = *before->resource;
  const std::string_view uid = find_text(metadata, "uid");
  if (!uid.empty() && uid != before->uid) {
    return write_conflict(resource, before->name,
                          "Precondition failed: UID in precondition: " + std::string(uid) +
                              ", UID in object meta: " + before->uid);
  }
  const std::string_view version = find_text(metadata, "resourceVersion");
  if (version.empty() && resource.is_custom && verb == Verb::kUpdate) {
    return invalid_object(
        resource, before->name,
        {{"metadata.resourceVersion", "Invalid value: \"\": must be specified for an update"}});
  }
  if (!version.empty() && version != std::to_string(before->version)) {
    return write_conflict(resource, before->name, kStale);
  }
  return {};
}

// The object with the part that is written from the body, and the rest as it was.
json::object ObjectWriter::written_part(const json::object& before, Part part,
                                        const Resource& resource, json::object metadata,
                                        json::object body) {
  const json::object& old_metadata = before.at("metadata").get_object();
  json::object changed = updated_metadata(old_metadata, std::move(metadata));
  if (part == Part::kMain) {
    return assemble(resource, std::move(changed), std::move(body), before.if_contains("status"));
  }
  // With their status, kinds of Kubernetes take metadata too.
  if (resource.is_custom) changed = old_metadata;
  return assemble(resource, std::move(changed), before, body.if_contains("status"));
}

base::Result<WriteOutcome> ObjectWriter::write(const ObjectPtr& before, Part part, Verb verb,
                                               json::object body, const WriteOptions& options) {
  const Resource& resource = *before->resource;
  WriteOutcome outcome;
  AT_OK(check_type(resource, body));
  AT_TRY(json::object metadata, read_metadata(body, &outcome.unknown_fields));
  keep_owners_once(metadata, outcome);
  AT_OK(check_place({&resource, before->ns, before->name}, metadata));
  AT_OK(check_preconditions(before, verb, metadata));
  const json::object old_object = parse_object(*before);
  json::object object =
      written_part(old_object, part, resource, std::move(metadata), std::move(body));
  for (std::string& field : shape(resource, object)) {
    outcome.unknown_fields.push_back(std::move(field));
  }
  AT_OK(check_unknown(resource, options, outcome.unknown_fields));
  outcome.object = before;
  if (object == old_object) return outcome;
  Causes causes = check_new_finalizers(old_object, object);
  append(causes, check_unchanged(resource, old_object, object));
  AT_OK(check_object(resource, object, std::move(causes)));
  if (resource.has_generation && !same_intent(old_object, object)) bump_generation(object);
  AT_TRY(outcome.object, finish(resource, before, std::move(object), options));
  return outcome;
}

base::Result<WriteOutcome> ObjectWriter::bind_pod(const ObjectPlace& place,
                                                  const json::object& binding,
                                                  const WriteOptions& options) {
  const ObjectPtr before = latest_.find(pods(), place.ns, place.name);
  if (!before) return object_not_found(pods(), place.name);
  const std::string node(find_text(binding, "target.name"));
  json::object pod = parse_object(*before);
  const std::string_view bound = find_text(pod, "spec.nodeName");
  if (node.empty()) return bad_request("target.name: must name a node");
  if (!bound.empty()) {
    return write_conflict(
        pods(), place.name,
        "pod " + place.name + " is already assigned to node \"" + std::string(bound) + "\"");
  }
  object_at(pod, "spec")["nodeName"] = node;
  return write(before, Part::kMain, Verb::kPatch, std::move(pod), options);
}

}  // namespace agenttier::store
