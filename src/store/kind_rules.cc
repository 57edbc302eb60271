#include "store/kind_rules.h"

#include <boost/json/serialize.hpp>
#include <set>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "store/names.h"

namespace agenttier::store {
namespace {

using Causes = std::vector<base::FieldCause>;

constexpr std::size_t kDataBytesMax = 1024 * 1024;  // of a Secret or ConfigMap

void set_absent(json::object& object, std::string_view name, json::value value) {
  if (!object.contains(name)) object[name] = std::move(value);
}

// ---- Pod

void default_pod(json::object& pod) {
  json::object& spec = object_at(pod, "spec");
  set_absent(spec, "restartPolicy", "Always");
  set_absent(spec, "terminationGracePeriodSeconds", 30);
  set_absent(spec, "dnsPolicy", "ClusterFirst");
  set_absent(spec, "schedulerName", "default-scheduler");
  set_absent(spec, "securityContext", json::object());
  set_absent(spec, "enableServiceLinks", true);
}

void check_containers(const json::object& spec, std::string_view list, std::set<std::string>& names,
                      Causes& causes) {
  const json::array* containers = find_array(spec, list);
  if (!containers) return;
  for (std::size_t i = 0; i < containers->size(); ++i) {
    const std::string path = "spec." + std::string(list) + "[" + std::to_string(i) + "]";
    const json::object* container = (*containers)[i].if_object();
    if (!container) {
      causes.push_back({path, "Invalid value: must be an object"});
      continue;
    }
    const std::string name(find_text(*container, "name"));
    if (name.empty()) {
      causes.push_back({path + ".name", "Required value"});
    } else if (const auto why = name_fault(NameRule::kLabel, name); !why.empty()) {
      causes.push_back({path + ".name", "Invalid value: \"" + name + "\": " + why});
    } else if (!names.insert(name).second) {
      causes.push_back({path + ".name", "Duplicate value: \"" + name + "\""});
    }
    if (find_text(*container, "image").empty()) {
      causes.push_back({path + ".image", "Required value"});
    }
  }
}

std::set<std::string> volume_names(const json::object& spec, Causes& causes) {
  std::set<std::string> names;
  const json::array* volumes = find_array(spec, "volumes");
  if (!volumes) return names;
  for (std::size_t i = 0; i < volumes->size(); ++i) {
    const std::string path = "spec.volumes[" + std::to_string(i) + "].name";
    const json::object* volume = (*volumes)[i].if_object();
    const std::string name(volume ? find_text(*volume, "name") : std::string_view());
    if (name.empty()) {
      causes.push_back({path, "Required value"});
    } else if (!names.insert(name).second) {
      causes.push_back({path, "Duplicate value: \"" + name + "\""});
    }
  }
  return names;
}

void check_mounts(const json::object& spec, std::string_view list,
                  const std::set<std::string>& volumes, Causes& causes) {
  const json::array* containers = find_array(spec, list);
  if (!containers) return;
  for (std::size_t i = 0; i < containers->size(); ++i) {
    const json::object* container = (*containers)[i].if_object();
    const json::array* mounts = container ? find_array(*container, "volumeMounts") : nullptr;
    for (std::size_t j = 0; mounts && j < mounts->size(); ++j) {
      const json::object* mount = (*mounts)[j].if_object();
      const std::string name(mount ? find_text(*mount, "name") : std::string_view());
      if (volumes.contains(name)) continue;
      causes.push_back({"spec." + std::string(list) + "[" + std::to_string(i) + "].volumeMounts[" +
                            std::to_string(j) + "].name",
                        "Not found: \"" + name + "\""});
    }
  }
}

void check_pod(const json::object& pod, Causes& causes) {
  const json::object* spec = find_object(pod, "spec");
  const json::array* containers = spec ? find_array(*spec, "containers") : nullptr;
  if (!containers || containers->empty()) {
    causes.push_back({"spec.containers", "Required value"});
    return;
  }
  std::set<std::string> names;
  check_containers(*spec, "initContainers", names, causes);
  check_containers(*spec, "containers", names, causes);
  const auto volumes = volume_names(*spec, causes);
  check_mounts(*spec, "initContainers", volumes, causes);
  check_mounts(*spec, "containers", volumes, causes);
  const std::string_view policy = find_text(*spec, "restartPolicy");
  if (policy != "Always" && policy != "OnFailure" && policy != "Never") {
    causes.push_back({"spec.restartPolicy", "Unsupported value: \"" + std::string(policy) +
                                                "\": supported values: \"Always\", "
                                                "\"OnFailure\", \"Never\""});
  }
}

void drop_images(json::object& spec, std::string_view list) {
  json::value* containers = spec.if_contains(list);
  if (!containers || !containers->is_array()) return;
  for (json::value& container : containers->get_array()) {
    if (container.is_object()) container.get_object().erase("image");
  }
}

// What of a pod's spec cannot change: all but images, the deadline, added tolerations, and the
// node, which is set once.
json::object fixed_pod_spec(const json::object& pod) {
  const json::object* found = find_object(pod, "spec");
  json::object spec = found ? *found : json::object();
  drop_images(spec, "containers");
  drop_images(spec, "initContainers");
  for (const std::string_view name :
       {"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"}) {
    spec.erase(name);
  }
  return spec;
}

void check_pod_unchanged(const json::object& before, const json::object& after, Causes& causes) {
  json::object old_spec = fixed_pod_spec(before);
  const json::object new_spec = fixed_pod_spec(after);
  if (find_text(old_spec, "nodeName").empty() && !find_text(new_spec, "nodeName").empty()) {
    old_spec["nodeName"] = new_spec.at("nodeName");
  }
  if (old_spec == new_spec) return;
  causes.push_back({"spec",
                    "Forbidden: pod updates may not change fields other than "
                    "`spec.containers[*].image`, `spec.initContainers[*].image`, "
                    "`spec.activeDeadlineSeconds`, `spec.tolerations` and an unset "
                    "`spec.nodeName`"});
}

// ---- Secret and ConfigMap

void default_secret(json::object& secret) {
  set_absent(secret, "type", "Opaque");
  const json::value* plain = secret.if_contains("stringData");
  if (!plain || !plain->is_object()) return;
  const json::object texts = plain->get_object();
  secret.erase("stringData");
  json::object& data = object_at(secret, "data");
  for (const auto& [key, text] : texts) {
    if (text.is_string()) data[key] = base::to_base64(view(text.get_string()));
  }
}

void check_data(const json::object& object, std::string_view member, bool is_base64,
                Causes& causes) {
  const json::value* found = object.if_contains(member);
  if (!found) return;
  const std::string field(member);
  if (!found->is_object()) {
    causes.push_back({field, "Invalid value: must be an object whose values are strings"});
    return;
  }
  std::size_t bytes = 0;
  for (const auto& [key, value] : found->get_object()) {
    const std::string path = field + "[" + std::string(key) + "]";
    if (const auto why = data_key_fault(key); !why.empty()) {
      causes.push_back({path, "Invalid value: \"" + std::string(key) + "\": " + why});
    }
    // The value is not shown: it may be secret.
    if (!value.is_string()) {
      causes.push_back({path, "Invalid value: must be a string"});
    } else if (is_base64 && !base::from_base64(view(value.get_string()))) {
      causes.push_back({path, "Invalid value: must be base64"});
    } else {
      bytes += value.get_string().size();
    }
  }
  if (bytes > kDataBytesMax) {
    causes.push_back({field, "Too long: may not be more than 1048576 bytes"});
  }
}

void check_fixed_data(const json::object& before, const json::object& after, Causes& causes) {
  const json::value* fixed = before.if_contains("immutable");
  if (!fixed || *fixed != json::value(true)) return;
  for (const std::string_view name : {"data", "binaryData", "immutable"}) {
    const json::value* old_value = before.if_contains(name);
    const json::value* new_value = after.if_contains(name);
    const bool same = old_value && new_value ? *old_value == *new_value : old_value == new_value;
    if (!same) {
      causes.push_back(
          {std::string(name), "Forbidden: field is immutable when `immutable` is set"});
    }
  }
}

// ---- PersistentVolumeClaim, NetworkPolicy, Service, Namespace

void default_claim(json::object& claim) {
  json::object& spec = object_at(claim, "spec");
  set_absent(spec, "volumeMode", "Filesystem");
}

void check_claim(const json::object& claim, Causes& causes) {
  const json::array* modes = find_array(claim, "spec.accessModes");
  if (!modes || modes->empty()) {
    causes.push_back({"spec.accessModes", "Required value: at least 1 access mode is required"});
  }
  if (!find_path(claim, "spec.resources.requests.storage")) {
    causes.push_back({"spec.resources[storage]", "Required value"});
  }
}

void check_claim_unchanged(const json::object& before, const json::object& after, Causes& causes) {
  const auto fixed = [](const json::object& claim) {
    const json::object* found = find_object(claim, "spec");
    json::object spec = found ? *found : json::object();
    spec.erase("resources");
    return spec;
  };
  json::object old_spec = fixed(before);
  const json::object new_spec = fixed(after);
  // The binder sets the volume and its class once.
  for (const std::string_view name : {"volumeName", "storageClassName"}) {
    if (!old_spec.contains(name) && new_spec.contains(name)) old_spec[name] = new_spec.at(name);
  }
  if (old_spec == new_spec) return;
  causes.push_back({"spec",
                    "Forbidden: spec is immutable after creation except resources.requests and "
                    "volumeAttributesClassName for bound claims"});
}

void default_network_policy(json::object& policy) {
  json::object& spec = object_at(policy, "spec");
  set_absent(spec, "podSelector", json::object());
  json::array types{"Ingress"};
  if (spec.contains("egress")) types.emplace_back("Egress");
  set_absent(spec, "policyTypes", std::move(types));
}

void default_service(json::object& service) {
  json::object& spec = object_at(service, "spec");
  set_absent(spec, "type", "ClusterIP");
  set_absent(spec, "sessionAffinity", "None");
}

void default_namespace(json::object& object) {
  const std::string name(find_text(object, "metadata.name"));
  object_at(object_at(object, "metadata"), "labels")["kubernetes.io/metadata.name"] = name;
}

void check_event(const json::object& event, Causes& causes) {
  const std::string_view own = find_text(event, "metadata.namespace");
  const std::string_view other = find_text(event, "involvedObject.namespace");
  const bool cluster_scoped = other.empty() && own == "default";
  if (other == own || other.empty() || cluster_scoped) return;
  causes.push_back({"involvedObject.namespace", "Invalid value: \"" + std::string(other) +
                                                    "\": does not match event.namespace"});
}

}  // namespace

void apply_kind_defaults(const Resource& resource, json::object& object) {
  const std::string_view kind = resource.type.kind;
  if (kind == "Pod") default_pod(object);
  if (kind == "Secret") default_secret(object);
  if (kind == "PersistentVolumeClaim") default_claim(object);
  if (kind == "NetworkPolicy") default_network_policy(object);
  if (kind == "Service") default_service(object);
  if (kind == "Namespace") default_namespace(object);
}

void apply_first_status(const Resource& resource, json::object& object) {
  const std::string_view kind = resource.type.kind;
  if (!resource.has_status || resource.keeps_status_on_create) return;
  object.erase("status");
  if (kind == "Pod" || kind == "PersistentVolumeClaim") {
    object["status"] = json::object{{"phase", "Pending"}};
  }
  if (kind == "Namespace") object["status"] = json::object{{"phase", "Active"}};
  if (kind == "Service") object["status"] = json::object{{"loadBalancer", json::object()}};
}

std::vector<base::FieldCause> check_kind(const Resource& resource, const json::object& object) {
  Causes causes;
  const std::string_view kind = resource.type.kind;
  if (kind == "Pod") check_pod(object, causes);
  if (kind == "Secret") check_data(object, "data", true, causes);
  if (kind == "ConfigMap") {
    check_data(object, "data", false, causes);
    check_data(object, "binaryData", true, causes);
  }
  if (kind == "PersistentVolumeClaim") check_claim(object, causes);
  if (kind == "Event") check_event(object, causes);
  return causes;
}

std::vector<base::FieldCause> check_unchanged(const Resource& resource, const json::object& before,
                                              const json::object& after) {
  Causes causes;
  const std::string_view kind = resource.type.kind;
  if (kind == "Pod") check_pod_unchanged(before, after, causes);
  if (kind == "PersistentVolumeClaim") check_claim_unchanged(before, after, causes);
  if (kind == "Secret" || kind == "ConfigMap") check_fixed_data(before, after, causes);
  if (kind == "Secret" && find_text(before, "type") != find_text(after, "type")) {
    causes.push_back({"type", "Invalid value: field is immutable"});
  }
  return causes;
}

}  // namespace agenttier::store
