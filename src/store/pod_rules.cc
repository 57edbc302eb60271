#include "store/pod_rules.h"

#include <boost/json/serialize.hpp>
#include <set>
#include <string>
#include <string_view>

#include "api/quantity.h"
#include "store/names.h"

namespace agenttier::store {
namespace {

using Causes = std::vector<base::FieldCause>;

constexpr std::int64_t kPortMax = 65535;

std::string at(const std::string& path, std::string_view list, std::size_t index) {
  return path + "." + std::string(list) + "[" + std::to_string(index) + "]";
}

void check_ports(const json::object& container, const std::string& path, Causes& causes) {
  const json::array* ports = find_array(container, "ports");
  for (std::size_t i = 0; ports && i < ports->size(); ++i) {
    const json::object* port = (*ports)[i].if_object();
    const json::value* number = port ? port->if_contains("containerPort") : nullptr;
    const std::string where = at(path, "ports", i) + ".containerPort";
    if (!number) {
      causes.push_back({where, "Required value"});
    } else if (!number->is_int64() || number->get_int64() < 1 || number->get_int64() > kPortMax) {
      causes.push_back({where, "Invalid value: " + json::serialize(*number) +
                                   ": must be between 1 and 65535, inclusive"});
    }
  }
}

// A request of more than the limit could never be met.
void check_amounts(const json::object& container, const std::string& path, Causes& causes) {
  const json::object* requests = find_object(container, "resources.requests");
  const json::object* limits = find_object(container, "resources.limits");
  if (!requests || !limits) return;
  for (const auto& [name, amount] : *requests) {
    const json::value* limit = limits->if_contains(name);
    if (!limit || !limit->is_string() || !amount.is_string()) continue;
    const auto wanted = api::parse_millis(view(amount.get_string()));
    const auto most = api::parse_millis(view(limit->get_string()));
    if (!wanted || !most || *wanted <= *most) continue;
    causes.push_back({path + ".resources.requests", "Invalid value: " + json::serialize(amount) +
                                                        ": must be less than or equal to " +
                                                        std::string(name) + " limit of " +
                                                        std::string(view(limit->get_string()))});
  }
}

void check_container(const json::object& container, const std::string& path, Causes& causes) {
  const std::string_view policy = find_text(container, "imagePullPolicy");
  if (policy != "Always" && policy != "IfNotPresent" && policy != "Never") {
    causes.push_back({path + ".imagePullPolicy",
                      "Unsupported value: " + json::serialize(json::value(policy)) +
                          ": supported values: \"Always\", \"IfNotPresent\", \"Never\""});
  }
  const json::array* variables = find_array(container, "env");
  for (std::size_t i = 0; variables && i < variables->size(); ++i) {
    const json::object* variable = (*variables)[i].if_object();
    if (variable && !find_text(*variable, "name").empty()) continue;
    causes.push_back({at(path, "env", i) + ".name", "Required value"});
  }
  check_ports(container, path, causes);
  check_amounts(container, path, causes);
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
    const std::string_view image = find_text(*container, "image");
    if (image.empty()) {
      causes.push_back({path + ".image", "Required value"});
    } else if (image.front() == ' ' || image.back() == ' ') {
      causes.push_back({path + ".image", "Invalid value: " + json::serialize(json::value(image)) +
                                             ": must not have leading or trailing whitespace"});
    }
    check_container(*container, path, causes);
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
      const std::string path = at(at("spec", list, i), "volumeMounts", j);
      if (mount && find_text(*mount, "mountPath").empty()) {
        causes.push_back({path + ".mountPath", "Required value"});
      }
      if (!volumes.contains(name)) {
        causes.push_back({path + ".name", "Not found: \"" + name + "\""});
      }
    }
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

}  // namespace

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

void check_pod_unchanged(const json::object& before, const json::object& after, Causes& causes) {
  json::object old_spec = fixed_pod_spec(before);
  const json::object new_spec = fixed_pod_spec(after);
  if (find_text(old_spec, "nodeName").empty() && !find_text(new_spec, "nodeName").empty()) {
    old_spec["nodeName"] = new_spec.at("nodeName");
  }
  if (old_spec == new_spec) return;
  causes.push_back({"spec",
                    "Forbidden: pod updates may not change fields other than "
                    "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
                    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if "
                    "it was previously negative)"});
}

}  // namespace agenttier::store
