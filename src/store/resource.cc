#include "store/resource.h"

#include "base/assert.h"

namespace agenttier::store {
namespace {

constexpr std::string_view kOurGroup = "agenttier.io";

std::vector<SelectableField> event_fields() {
  return {{"involvedObject.kind"},
          {"involvedObject.namespace"},
          {"involvedObject.name"},
          {"involvedObject.uid"},
          {"involvedObject.apiVersion"},
          {"involvedObject.resourceVersion"},
          {"involvedObject.fieldPath"},
          {"reason"},
          {"reportingComponent"},
          {"source", "", "source.component"},
          {"type"}};
}

Resource ours(std::string_view plural, std::string_view kind, std::string_view singular) {
  Resource resource{};
  resource.type = {kOurGroup, "v1alpha1", plural, kind, true};
  resource.singular = singular;
  resource.is_custom = true;
  resource.has_generation = true;
  return resource;
}

Resource core(std::string_view plural, std::string_view kind, std::string_view singular,
              std::vector<std::string_view> short_names = {}) {
  Resource resource{};
  resource.type = {"", "v1", plural, kind, true};
  resource.singular = singular;
  resource.short_names = std::move(short_names);
  return resource;
}

Resource sandboxes() {
  Resource resource = ours("sandboxes", "Sandbox", "sandbox");
  resource.has_status = true;
  return resource;
}

Resource cluster_templates() {
  Resource resource =
      ours("clustersandboxtemplates", "ClusterSandboxTemplate", "clustersandboxtemplate");
  resource.type.namespaced = false;
  return resource;
}

Resource pod_resource() {
  Resource resource = core("pods", "Pod", "pod", {"po"});
  resource.categories = {"all"};
  resource.shows_deleted_object = true;
  resource.has_status = true;
  resource.has_generation = true;
  resource.fields = {{"spec.nodeName"},
                     {"spec.restartPolicy"},
                     {"spec.schedulerName"},
                     {"spec.serviceAccountName"},
                     {"spec.hostNetwork", "false"},
                     {"status.phase"},
                     {"status.podIP"},
                     {"status.nominatedNodeName"}};
  return resource;
}

Resource volume_claims() {
  Resource resource =
      core("persistentvolumeclaims", "PersistentVolumeClaim", "persistentvolumeclaim", {"pvc"});
  resource.shows_deleted_object = true;
  resource.has_status = true;
  return resource;
}

Resource secrets() {
  Resource resource = core("secrets", "Secret", "secret");
  resource.fields = {{"type"}};
  return resource;
}

Resource event_resource() {
  Resource resource = core("events", "Event", "event", {"ev"});
  resource.fields = event_fields();
  return resource;
}

Resource namespace_resource() {
  Resource resource = core("namespaces", "Namespace", "namespace", {"ns"});
  resource.type.namespaced = false;
  resource.name_rule = NameRule::kLabel;
  resource.has_status = true;
  resource.deletes_collection = false;
  resource.shows_deleted_object = true;
  resource.fields = {{"status.phase"}};
  return resource;
}

Resource node_resource() {
  Resource resource = core("nodes", "Node", "node", {"no"});
  resource.type.namespaced = false;
  resource.has_status = true;
  resource.keeps_status_on_create = true;
  resource.fields = {{"spec.unschedulable", "false"}};
  return resource;
}

Resource services() {
  Resource resource = core("services", "Service", "service", {"svc"});
  resource.name_rule = NameRule::kServiceLabel;
  resource.categories = {"all"};
  resource.shows_deleted_object = true;
  resource.has_status = true;
  resource.fields = {{"spec.clusterIP"}, {"spec.type"}};
  return resource;
}

Resource network_policies() {
  Resource resource = core("networkpolicies", "NetworkPolicy", "networkpolicy", {"netpol"});
  resource.type.group = "networking.k8s.io";
  resource.has_generation = true;
  return resource;
}

Resource leases() {
  Resource resource = core("leases", "Lease", "lease");
  resource.type.group = "coordination.k8s.io";
  return resource;
}

std::vector<Resource> make_resources() {
  std::vector<Resource> list{sandboxes(),
                             ours("sandboxtemplates", "SandboxTemplate", "sandboxtemplate"),
                             cluster_templates(),
                             pod_resource(),
                             volume_claims(),
                             secrets(),
                             core("configmaps", "ConfigMap", "configmap", {"cm"}),
                             event_resource(),
                             namespace_resource(),
                             node_resource(),
                             services(),
                             network_policies(),
                             leases()};
  for (std::size_t i = 0; i < list.size(); ++i) list[i].index = i;
  return list;
}

const Resource& named(std::string_view plural) {
  const Resource* found = find_resource("", "v1", plural);
  AT_ASSERT(found);
  return *found;
}

}  // namespace

std::string Resource::api_version() const {
  const std::string version(type.version);
  return type.group.empty() ? version : std::string(type.group) + "/" + version;
}

std::span<const Resource> all_resources() {
  static const std::vector<Resource> list = make_resources();
  return list;
}

const Resource* find_resource(std::string_view group, std::string_view version,
                              std::string_view plural) {
  for (const Resource& resource : all_resources()) {
    if (resource.type.plural == plural && resource.type.group == group &&
        resource.type.version == version) {
      return &resource;
    }
  }
  return nullptr;
}

const Resource* find_resource_of_kind(std::string_view api_version, std::string_view kind) {
  for (const Resource& resource : all_resources()) {
    if (resource.type.kind == kind && resource.api_version() == api_version) return &resource;
  }
  return nullptr;
}

const Resource& namespaces() {
  static const Resource& resource = named("namespaces");
  return resource;
}

const Resource& pods() {
  static const Resource& resource = named("pods");
  return resource;
}

const Resource& events() {
  static const Resource& resource = named("events");
  return resource;
}

const Resource& nodes() {
  static const Resource& resource = named("nodes");
  return resource;
}

}  // namespace agenttier::store
