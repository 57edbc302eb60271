#include "store/kind_rules.h"

#include <boost/json/serialize.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/quantity.h"
#include "api/validate.h"
#include "base/bytes.h"
#include "store/json_edit.h"
#include "store/names.h"
#include "store/pod_rules.h"

namespace agenttier::store {
namespace {

using Causes = std::vector<base::FieldCause>;

constexpr std::size_t kDataBytesMax = 1024 * 1024;  // of a Secret or ConfigMap

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

// The same key in both would be one file twice.
void check_keys_once(const json::object& object, Causes& causes) {
  const json::object* texts = find_object(object, "data");
  const json::object* bytes = find_object(object, "binaryData");
  if (!texts || !bytes) return;
  for (const auto& [key, value] : *texts) {
    if (!bytes->contains(key)) continue;
    const std::string name(key);
    causes.push_back({"data[" + name + "]",
                      "Invalid value: \"" + name + "\": duplicate of key present in binaryData"});
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

bool is_access_mode(std::string_view mode) {
  return mode == "ReadOnlyMany" || mode == "ReadWriteMany" || mode == "ReadWriteOnce" ||
         mode == "ReadWriteOncePod";
}

std::optional<std::int64_t> claim_bytes(const json::object& claim, std::string_view path) {
  const std::string_view text = find_text(claim, path);
  const auto bytes = api::parse_bytes(text);
  return text.empty() || !bytes ? std::nullopt : std::optional(*bytes);
}

void check_claim(const json::object& claim, Causes& causes) {
  const json::array* modes = find_array(claim, "spec.accessModes");
  if (!modes || modes->empty()) {
    causes.push_back({"spec.accessModes", "Required value: at least 1 access mode is required"});
  }
  for (std::size_t i = 0; modes && i < modes->size(); ++i) {
    const json::string* mode = (*modes)[i].if_string();
    if (mode && is_access_mode(view(*mode))) continue;
    causes.push_back({"spec.accessModes", "Unsupported value: " + json::serialize((*modes)[i]) +
                                              ": supported values: \"ReadOnlyMany\", "
                                              "\"ReadWriteMany\", \"ReadWriteOnce\", "
                                              "\"ReadWriteOncePod\""});
  }
  const json::value* size = find_path(claim, "spec.resources.requests.storage");
  if (!size) {
    causes.push_back({"spec.resources[storage]", "Required value"});
  } else if (claim_bytes(claim, "spec.resources.requests.storage") == 0) {
    causes.push_back({"spec.resources[storage]",
                      "Invalid value: " + json::serialize(*size) + ": must be greater than zero"});
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
  constexpr std::string_view kSize = "spec.resources.requests.storage";
  const auto had = claim_bytes(before, "status.capacity.storage");
  const auto wants = claim_bytes(after, kSize);
  if (had && wants && *wants < *had && *wants < claim_bytes(before, kSize).value_or(0)) {
    causes.push_back({std::string(kSize), "Forbidden: field can not be less than status.capacity"});
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
  for (const std::string_view direction : {"ingress", "egress"}) {
    for_each_object(spec, direction, [](json::object& rule) {
      for_each_object(rule, "ports",
                      [](json::object& port) { set_absent(port, "protocol", "TCP"); });
    });
  }
}

void check_block(const json::object& peer, const std::string& path, Causes& causes) {
  const json::object* block = find_object(peer, "ipBlock");
  if (!block) return;
  const std::string cidr(find_text(*block, "cidr"));
  if (api::check_cidr(cidr)) return;
  causes.push_back({path + ".ipBlock.cidr",
                    "Invalid value: " + json::serialize(json::value(cidr)) +
                        ": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"});
}

void check_peers(const json::object& policy, std::string_view direction, std::string_view side,
                 Causes& causes) {
  const json::array* rules = find_array(policy, "spec." + std::string(direction));
  for (std::size_t i = 0; rules && i < rules->size(); ++i) {
    const json::object* rule = (*rules)[i].if_object();
    const json::array* peers = rule ? find_array(*rule, side) : nullptr;
    for (std::size_t j = 0; peers && j < peers->size(); ++j) {
      if (!(*peers)[j].is_object()) continue;
      check_block((*peers)[j].get_object(),
                  "spec." + std::string(direction) + "[" + std::to_string(i) + "]." +
                      std::string(side) + "[" + std::to_string(j) + "]",
                  causes);
    }
  }
}

void check_network_policy(const json::object& policy, Causes& causes) {
  const json::array* types = find_array(policy, "spec.policyTypes");
  for (std::size_t i = 0; types && i < types->size(); ++i) {
    const json::value& type = (*types)[i];
    if (type == json::value("Ingress") || type == json::value("Egress")) continue;
    causes.push_back({"spec.policyTypes[" + std::to_string(i) + "]",
                      "Unsupported value: " + json::serialize(type) +
                          ": supported values: \"Ingress\", \"Egress\""});
  }
  check_peers(policy, "ingress", "from", causes);
  check_peers(policy, "egress", "to", causes);
}

void default_service(json::object& service) {
  json::object& spec = object_at(service, "spec");
  set_absent(spec, "type", "ClusterIP");
  set_absent(spec, "sessionAffinity", "None");
  set_absent(spec, "internalTrafficPolicy", "Cluster");
  for_each_object(spec, "ports", [](json::object& port) {
    set_absent(port, "protocol", "TCP");
    if (const json::value* number = port.if_contains("port"))
      set_absent(port, "targetPort", *number);
  });
}

// Fields of which every Event tells, empty ones as well.
void default_event(json::object& event) {
  for (const std::string_view name : {"eventTime", "firstTimestamp", "lastTimestamp"}) {
    set_absent(event, name, nullptr);
  }
  for (const std::string_view name : {"reportingComponent", "reportingInstance"}) {
    set_absent(event, name, "");
  }
}

void default_node(json::object& node) {
  json::object& spec = object_at(node, "spec");
  const json::value* subnet = spec.if_contains("podCIDR");
  if (subnet && subnet->is_string()) set_absent(spec, "podCIDRs", json::array{*subnet});
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
  if (kind == "Event") default_event(object);
  if (kind == "Node") default_node(object);
}

void apply_first_status(const Resource& resource, json::object& object) {
  const std::string_view kind = resource.type.kind;
  if (!resource.has_status || resource.keeps_status_on_create) return;
  object.erase("status");
  if (kind == "Pod" || kind == "PersistentVolumeClaim") {
    object["status"] = json::object{{"phase", "Pending"}};
  }
  if (kind == "Pod") object["status"].as_object()["qosClass"] = pod_quality(object);
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
    check_keys_once(object, causes);
  }
  if (kind == "PersistentVolumeClaim") check_claim(object, causes);
  if (kind == "NetworkPolicy") check_network_policy(object, causes);
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
    causes.push_back(
        {"type", "Invalid value: " + json::serialize(json::value(find_text(after, "type"))) +
                     ": field is immutable"});
  }
  return causes;
}

}  // namespace agenttier::store
