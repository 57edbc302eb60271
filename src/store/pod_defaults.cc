// What Kubernetes fills in for a pod.

#include <algorithm>
#include <string>
#include <string_view>

#include "store/json_edit.h"
#include "store/pod_rules.h"

namespace agenttier::store {
namespace {

constexpr std::string_view kContainerLists[] = {"initContainers", "containers"};
constexpr std::string_view kProbes[] = {"livenessProbe", "readinessProbe", "startupProbe"};
constexpr int kFileMode = 0644;

// An image without a tag, or of the tag "latest", may be another one tomorrow.
bool is_moving_image(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return false;
  const std::string_view last = image.substr(image.rfind('/') + 1);
  const std::size_t colon = last.find(':');
  return colon == std::string_view::npos || last.substr(colon + 1) == "latest";
}

void default_http_get(json::object& handler) {
  json::object* get = find_member(handler, "httpGet");
  if (!get) return;
  set_absent(*get, "path", "/");
  set_absent(*get, "scheme", "HTTP");
}

void default_probe(json::object& probe) {
  set_absent(probe, "timeoutSeconds", 1);
  set_absent(probe, "periodSeconds", 10);
  set_absent(probe, "successThreshold", 1);
  set_absent(probe, "failureThreshold", 3);
  default_http_get(probe);
}

void default_requests(json::object& container) {
  json::object& resources = object_at(container, "resources");
  const json::object* limits = find_object(resources, "limits");
  if (!limits) return;
  const json::object wanted = *limits;
  json::object& requests = object_at(resources, "requests");
  for (const auto& [name, amount] : wanted) set_absent(requests, name, amount);
}

void default_container(json::object& container) {
  const bool moving = is_moving_image(find_text(container, "image"));
  set_absent(container, "imagePullPolicy", moving ? "Always" : "IfNotPresent");
  set_absent(container, "terminationMessagePath", "/dev/termination-log");
  set_absent(container, "terminationMessagePolicy", "File");
  default_requests(container);
  for_each_object(container, "ports",
                  [](json::object& port) { set_absent(port, "protocol", "TCP"); });
  for_each_object(container, "env", [](json::object& variable) {
    json::object* from = find_member(variable, "valueFrom");
    json::object* field = from ? find_member(*from, "fieldRef") : nullptr;
    if (field) set_absent(*field, "apiVersion", "v1");
  });
  for (const std::string_view name : kProbes) {
    if (json::object* probe = find_member(container, name)) default_probe(*probe);
  }
  json::object* lifecycle = find_member(container, "lifecycle");
  for (const std::string_view name : {"postStart", "preStop"}) {
    json::object* hook = lifecycle ? find_member(*lifecycle, name) : nullptr;
    if (hook) default_http_get(*hook);
  }
}

void default_field_items(json::object& source) {
  for_each_object(source, "items", [](json::object& item) {
    if (json::object* field = find_member(item, "fieldRef")) set_absent(*field, "apiVersion", "v1");
  });
}

void default_volume(json::object& volume) {
  for (const std::string_view name : {"secret", "configMap", "downwardAPI", "projected"}) {
    json::object* source = find_member(volume, name);
    if (!source) continue;
    set_absent(*source, "defaultMode", kFileMode);
    default_field_items(*source);
    for_each_object(*source, "sources", [](json::object& part) {
      if (json::object* fields = find_member(part, "downwardAPI")) default_field_items(*fields);
    });
  }
  if (json::object* host = find_member(volume, "hostPath")) set_absent(*host, "type", "");
  // A volume of no source is an empty folder.
  if (volume.size() == 1 && volume.contains("name")) volume["emptyDir"] = json::object();
}

bool asks_for(const json::object& container, std::string_view list, std::string_view resource) {
  const json::object* amounts = find_object(container, list);
  return amounts && amounts->contains(resource);
}

}  // namespace

void default_pod(json::object& pod) {
  json::object& spec = object_at(pod, "spec");
  set_absent(spec, "restartPolicy", "Always");
  set_absent(spec, "terminationGracePeriodSeconds", 30);
  json::value& grace = spec["terminationGracePeriodSeconds"];
  if (grace.is_int64() && grace.get_int64() < 0) grace = 1;
  set_absent(spec, "dnsPolicy", "ClusterFirst");
  set_absent(spec, "schedulerName", "default-scheduler");
  set_absent(spec, "securityContext", json::object());
  set_absent(spec, "enableServiceLinks", true);
  // False is what absent means.
  for (const std::string_view name : {"hostNetwork", "hostPID", "hostIPC"}) {
    const json::value* value = spec.if_contains(name);
    if (value && *value == json::value(false)) spec.erase(name);
  }
  for (const std::string_view list : kContainerLists)
    for_each_object(spec, list, default_container);
  for_each_object(spec, "volumes", default_volume);
}

std::string_view pod_quality(const json::object& pod) {
  bool asks = false;
  bool is_guaranteed = true;
  for (const std::string_view list : kContainerLists) {
    const json::array* containers = find_array(pod, "spec." + std::string(list));
    for (std::size_t i = 0; containers && i < containers->size(); ++i) {
      const json::object* container = (*containers)[i].if_object();
      if (!container) continue;
      for (const std::string_view resource : {"cpu", "memory"}) {
        const bool limited = asks_for(*container, "resources.limits", resource);
        const bool requested = asks_for(*container, "resources.requests", resource);
        const json::object* limits = find_object(*container, "resources.limits");
        const json::object* requests = find_object(*container, "resources.requests");
        asks = asks || limited || requested;
        is_guaranteed =
            is_guaranteed && limited && requested && limits->at(resource) == requests->at(resource);
      }
    }
  }
  if (!asks) return "BestEffort";
  return is_guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace agenttier::store
