#include "node/pod_plan.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "api/names.h"
#include "api/quantity.h"
#include "node/oci_runtime.h"

namespace agenttier::node {

using base::Result;
using base::Status;
namespace names = api::names;

namespace {

constexpr std::size_t kHostnameBytesMax = 63;
constexpr std::int64_t kUserIdMax = 0x7FFFFFFE;

bool is_set(const boost::json::value& value) {
  return !value.is_null();
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  std::string part;
  while (std::getline(stream, part, separator)) parts.push_back(part);
  return parts;
}

Status check_volumes(const std::vector<api::Volume>& volumes) {
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const api::Volume& volume = volumes[i];
    const std::string field = "spec.volumes[" + std::to_string(i) + "]";
    if (is_set(volume.host_path)) {
      return base::invalid_field(field + ".hostPath", "paths of the host are not given to pods");
    }
    const int known = int{volume.persistent_volume_claim.has_value()} +
                      int{volume.empty_dir.has_value()} + int{volume.secret.has_value()} +
                      int{volume.config_map.has_value()};
    if (known != 1) {
      return base::invalid_field(
          field,
          "this node has persistentVolumeClaim, emptyDir, secret and configMap volumes; "
          "give exactly one of them");
    }
  }
  return {};
}

Status check_container(const api::Container& container, const std::string& field) {
  if (!container.security_context) return {};
  const api::SecurityContext& security = *container.security_context;
  if (security.privileged.value_or(false)) {
    return base::invalid_field(field + ".securityContext.privileged",
                               "privileged containers are not run; remove it");
  }
  if (security.proc_mount.value_or("Default") != "Default") {
    return base::invalid_field(field + ".securityContext.procMount", "must be Default");
  }
  if (!security.capabilities) return {};
  for (const std::string& name : security.capabilities->add) {
    const std::string whole = name.starts_with("CAP_") ? name : "CAP_" + name;
    if (!is_grantable_capability(whole)) {
      return base::invalid_field(field + ".securityContext.capabilities.add",
                                 name + " is not granted on this node; remove it");
    }
  }
  return {};
}

void set_variable(Environment& env, const std::string& name, std::string value) {
  const auto present = std::find_if(env.begin(), env.end(),
                                    [&name](const auto& entry) { return entry.first == name; });
  if (present != env.end()) {
    present->second = std::move(value);
  } else {
    env.emplace_back(name, std::move(value));
  }
}

bool is_variable_name(const std::string& name) {
  return !name.empty() && name.find('=') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

void add_all(Environment& env, const Values& values, const std::string& prefix) {
  for (const auto& [key, value] : values) {
    const std::string name = prefix + key;
    if (is_variable_name(name)) set_variable(env, name, value);
  }
}

Result<std::optional<std::string>> value_of_key(const std::map<std::string, Values>& sources,
                                                const api::KeySelector& selector,
                                                const std::string& kind) {
  const auto source = sources.find(selector.name);
  if (source != sources.end()) {
    const auto value = source->second.find(selector.key);
    if (value != source->second.end()) return std::optional<std::string>(value->second);
  }
  if (selector.optional.value_or(false)) return std::optional<std::string>();
  return base::not_found("couldn't find key " + selector.key + " in " + kind + " \"" +
                         selector.name + "\"");
}

// metadata.labels['key'] and metadata.annotations['key'].
std::optional<std::string> subscript(const std::string& path, const std::string& name) {
  const std::string start = name + "['";
  if (!path.starts_with(start) || !path.ends_with("']")) return std::nullopt;
  return path.substr(start.size(), path.size() - start.size() - 2);
}

Result<std::string> value_of_field(const api::Pod& pod, const PodFacts& facts,
                                   const std::string& path) {
  if (path == "metadata.name") return pod.metadata.name;
  if (path == "metadata.namespace") return pod.metadata.ns;
  if (path == "metadata.uid") return pod.metadata.uid;
  if (path == "spec.nodeName") return facts.node_name;
  if (path == "spec.serviceAccountName") return pod.spec.service_account_name.value_or("default");
  if (path == "status.podIP" || path == "status.podIPs") return facts.pod_ip;
  if (path == "status.hostIP" || path == "status.hostIPs") return facts.host_ip;
  const auto find = [](const std::map<std::string, std::string>& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::string() : found->second;
  };
  if (const auto key = subscript(path, "metadata.labels")) return find(pod.metadata.labels, *key);
  if (const auto key = subscript(path, "metadata.annotations")) {
    return find(pod.metadata.annotations, *key);
  }
  return base::invalid("env: fieldRef " + path + " is not known");
}

Result<std::optional<std::string>> value_from(const api::Pod& pod, const api::EnvVarSource& from,
                                              const PodSources& sources, const PodFacts& facts) {
  if (from.secret_key_ref) return value_of_key(sources.secrets, *from.secret_key_ref, "secret");
  if (from.config_map_key_ref) {
    return value_of_key(sources.config_maps, *from.config_map_key_ref, "configmap");
  }
  if (from.field_ref) {
    AT_TRY(std::string value, value_of_field(pod, facts, from.field_ref->field_path));
    return std::optional<std::string>(std::move(value));
  }
  return base::invalid("env: this node knows secretKeyRef, configMapKeyRef and fieldRef");
}

Status add_own(const api::Pod& pod, const api::Container& container, const PodSources& sources,
               const PodFacts& facts, Environment& env) {
  for (const api::EnvVar& variable : container.env) {
    if (!is_variable_name(variable.name)) {
      return base::invalid("env: \"" + variable.name + "\" is not the name of a variable");
    }
    if (!variable.value_from) {
      set_variable(env, variable.name, expand_variables(variable.value.value_or(""), env));
      continue;
    }
    auto value = value_from(pod, *variable.value_from, sources, facts);
    if (!value) return std::move(value).error();
    if (*value) set_variable(env, variable.name, **std::move(value));
  }
  return {};
}

std::optional<std::uint32_t> parse_id(const std::string& text) {
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

// The fields of the entry of that name in passwd or group.
std::vector<std::string> find_entry(const std::string& text, const std::string& name) {
  for (const std::string& line : split(text, '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() >= 3 && fields[0] == name) return fields;
  }
  return {};
}

std::vector<std::string> command_line(const ContainerPlan& plan) {
  const api::Container& container = plan.container;
  std::vector<std::string> words = container.command;
  if (words.empty()) {
    words = plan.image.entrypoint;
    // The image's own arguments belong to its own entrypoint.
    if (container.args.empty()) {
      words.insert(words.end(), plan.image.cmd.begin(), plan.image.cmd.end());
      return words;
    }
  }
  words.insert(words.end(), container.args.begin(), container.args.end());
  for (std::string& word : words) word = expand_variables(word, plan.env);
  return words;
}

Status set_user(const ContainerPlan& plan, ContainerConfig& config) {
  const auto& pod = plan.pod.spec.security_context;
  const auto& own = plan.container.security_context;
  const auto choose = [&](auto field_own, auto field_pod, std::uint32_t fallback) -> std::int64_t {
    if (own && (*own).*field_own) return *((*own).*field_own);
    if (pod && (*pod).*field_pod) return *((*pod).*field_pod);
    return fallback;
  };
  const std::int64_t uid = choose(&api::SecurityContext::run_as_user,
                                  &api::PodSecurityContext::run_as_user, plan.image_user.uid);
  const std::int64_t gid = choose(&api::SecurityContext::run_as_group,
                                  &api::PodSecurityContext::run_as_group, plan.image_user.gid);
  if (uid < 0 || uid > kUserIdMax || gid < 0 || gid > kUserIdMax) {
    return base::invalid("securityContext: runAsUser and runAsGroup must be 0 to 2147483646");
  }
  const bool must_not_be_root = own && own->run_as_non_root ? *own->run_as_non_root
                                : pod                       ? pod->run_as_non_root.value_or(false)
                                                            : false;
  if (must_not_be_root && uid == 0) {
    return base::invalid(
        "securityContext: runAsNonRoot is set, but the container would run as root");
  }
  config.uid = static_cast<std::uint32_t>(uid);
  config.gid = static_cast<std::uint32_t>(gid);
  if (!pod) return {};
  if (pod->fs_group) config.groups.push_back(static_cast<std::uint32_t>(*pod->fs_group));
  for (const std::int64_t group : pod->supplemental_groups) {
    config.groups.push_back(static_cast<std::uint32_t>(group));
  }
  return {};
}

void set_security(const api::Container& container, ContainerConfig& config) {
  config.capabilities = default_capabilities();
  config.escalation = Escalation::kAllowed;
  if (!container.security_context) return;
  const api::SecurityContext& security = *container.security_context;
  if (!security.allow_privilege_escalation.value_or(true))
    config.escalation = Escalation::kForbidden;
  if (security.read_only_root_filesystem.value_or(false)) config.root_access = Access::kReadOnly;
  if (!security.capabilities) return;
  const auto whole = [](const std::string& name) {
    return name.starts_with("CAP_") ? name : "CAP_" + name;
  };
  for (const std::string& name : security.capabilities->drop) {
    if (name == "ALL") {
      config.capabilities.clear();
    } else {
      config.capabilities.erase(whole(name));
    }
  }
  for (const std::string& name : security.capabilities->add)
    config.capabilities.insert(whole(name));
}

Result<std::int64_t> quantity(const std::map<std::string, std::string>& map, const char* name,
                              Result<std::int64_t> (*parse)(std::string_view)) {
  const auto found = map.find(name);
  if (found == map.end()) return std::int64_t{0};
  auto value = parse(found->second);
  if (!value) return std::move(value).error().context(std::string("resources: ") + name);
  return value;
}

Status set_limits(const api::Container& container, ContainerLimits& limits) {
  if (!container.resources) return {};
  const api::ResourceRequirements& resources = *container.resources;
  AT_TRY(limits.memory_bytes, quantity(resources.limits, "memory", api::parse_bytes));
  AT_TRY(limits.cpu_millis, quantity(resources.limits, "cpu", api::parse_millis));
  AT_TRY(limits.cpu_share_millis, quantity(resources.requests, "cpu", api::parse_millis));
  if (limits.cpu_share_millis == 0) limits.cpu_share_millis = limits.cpu_millis;
  return {};
}

// Absolute and without "..", so that what the runtime resolves is what was asked for.
bool is_plain_path(const std::string& path) {
  if (path.empty() || path[0] != '/' || path.find('\0') != std::string::npos) return false;
  const std::vector<std::string> parts = split(path, '/');
  return std::find(parts.begin(), parts.end(), "..") == parts.end();
}

Status add_mounts(const ContainerPlan& plan, ContainerConfig& config) {
  const ContainerPlaces& places = plan.places;
  config.mounts.push_back({places.files + "/hosts", "/etc/hosts"});
  config.mounts.push_back({places.files + "/hostname", "/etc/hostname"});
  config.mounts.push_back({places.files + "/resolv.conf", "/etc/resolv.conf"});
  if (config.root_access == Access::kReadOnly) {
    for (MountedPath& path : config.mounts) path.access = Access::kReadOnly;
  }
  const auto& annotations = plan.pod.metadata.annotations;
  const auto runtime = annotations.find(std::string(names::kRuntimeAnnotation));
  if (runtime != annotations.end() && runtime->second == names::kTrue) {
    config.mounts.push_back(
        {places.runtime_binary, std::string(names::kRuntimePath), Access::kReadOnly});
  }
  for (const api::VolumeMount& mount : plan.container.volume_mounts) {
    const auto volume = places.volumes.find(mount.name);
    if (volume == places.volumes.end()) {
      return base::invalid("volumeMounts: there is no volume \"" + mount.name + "\"");
    }
    if (!is_plain_path(mount.mount_path)) {
      return base::invalid("volumeMounts: mountPath \"" + mount.mount_path +
                           "\" must be absolute and without \"..\"");
    }
    const auto access = mount.read_only.value_or(false) ? Access::kReadOnly : Access::kReadWrite;
    const auto sub_path = places.sub_paths.find(mount.mount_path);
    const bool whole = sub_path == places.sub_paths.end();
    config.mounts.push_back({whole ? volume->second : sub_path->second, mount.mount_path, access});
  }
  return {};
}

}  // namespace

Status check_pod(const api::Pod& pod) {
  const api::PodSpec& spec = pod.spec;
  const std::pair<const std::optional<bool>&, const char*> host[] = {
      {spec.host_network, "spec.hostNetwork"},
      {spec.host_pid, "spec.hostPID"},
      {spec.host_ipc, "spec.hostIPC"}};
  for (const auto& [value, field] : host) {
    if (value.value_or(false)) {
      return base::invalid_field(field, "pods do not share the host's namespaces; remove it");
    }
  }
  if (spec.share_process_namespace.value_or(false)) {
    return base::invalid_field("spec.shareProcessNamespace", "is not supported; remove it");
  }
  if (!runtime_class_of(spec.runtime_class_name.value_or(""))) {
    return base::invalid_field(
        "spec.runtimeClassName",
        "\"" + *spec.runtime_class_name +
            "\" is not known on this node; use gvisor or runc, or leave it out");
  }
  AT_OK(check_volumes(spec.volumes));
  for (std::size_t i = 0; i < spec.init_containers.size(); ++i) {
    AT_OK(
        check_container(spec.init_containers[i], "spec.initContainers[" + std::to_string(i) + "]"));
  }
  for (std::size_t i = 0; i < spec.containers.size(); ++i) {
    AT_OK(check_container(spec.containers[i], "spec.containers[" + std::to_string(i) + "]"));
  }
  return {};
}

Result<Environment> plan_environment(const api::Pod& pod, const api::Container& container,
                                     const ImageConfig& image, const PodSources& sources,
                                     const PodFacts& facts) {
  Environment env;
  for (const std::string& entry : image.env) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos && equals > 0) {
      set_variable(env, entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  if (std::none_of(env.begin(), env.end(),
                   [](const auto& entry) { return entry.first == "PATH"; })) {
    set_variable(env, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  }
  set_variable(env, "HOSTNAME", pod_hostname(pod));
  for (const api::EnvFromSource& from : container.env_from) {
    const std::string prefix = from.prefix.value_or("");
    if (from.secret_ref) {
      const auto values = sources.secrets.find(from.secret_ref->name);
      if (values != sources.secrets.end()) add_all(env, values->second, prefix);
    }
    if (from.config_map_ref) {
      const auto values = sources.config_maps.find(from.config_map_ref->name);
      if (values != sources.config_maps.end()) add_all(env, values->second, prefix);
    }
  }
  AT_OK(add_own(pod, container, sources, facts, env));
  return env;
}

std::string expand_variables(const std::string& text, const Environment& env) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      result += '$';
      ++i;
      continue;
    }
    const std::size_t close = text[i + 1] == '(' ? text.find(')', i + 2) : std::string::npos;
    if (close == std::string::npos) {
      result += '$';
      continue;
    }
    const std::string name = text.substr(i + 2, close - i - 2);
    const auto found = std::find_if(env.begin(), env.end(),
                                    [&name](const auto& entry) { return entry.first == name; });
    result += found != env.end() ? found->second : text.substr(i, close - i + 1);
    i = close;
  }
  return result;
}

Result<UserIds> find_image_user(const std::string& user, const std::string& passwd,
                                const std::string& group) {
  if (user.empty()) return UserIds{};
  const std::size_t colon = user.find(':');
  const std::string name = user.substr(0, colon);
  UserIds ids;
  if (const auto uid = parse_id(name)) {
    ids.uid = *uid;
    for (const std::string& line : split(passwd, '\n')) {
      const std::vector<std::string> fields = split(line, ':');
      if (fields.size() >= 4 && fields[2] == name) ids.gid = parse_id(fields[3]).value_or(0);
    }
  } else {
    const std::vector<std::string> entry = find_entry(passwd, name);
    if (entry.size() < 4 || !parse_id(entry[2])) {
      return base::invalid("the image's user \"" + name + "\" is not in its /etc/passwd");
    }
    ids = {*parse_id(entry[2]), parse_id(entry[3]).value_or(0)};
  }
  if (colon == std::string::npos) return ids;
  const std::string group_name = user.substr(colon + 1);
  if (const auto gid = parse_id(group_name)) {
    ids.gid = *gid;
    return ids;
  }
  const std::vector<std::string> entry = find_entry(group, group_name);
  if (entry.empty() || !parse_id(entry[2])) {
    return base::invalid("the image's group \"" + group_name + "\" is not in its /etc/group");
  }
  ids.gid = *parse_id(entry[2]);
  return ids;
}

Result<ContainerConfig> plan_container(const ContainerPlan& plan) {
  ContainerConfig config;
  config.argv = command_line(plan);
  if (config.argv.empty()) {
    return base::invalid("container \"" + plan.container.name +
                         "\": neither it nor its image has a command; set command");
  }
  for (const auto& [name, value] : plan.env) config.env.push_back(name + "=" + value);
  config.working_dir = plan.container.working_dir.value_or(
      plan.image.working_dir.empty() ? "/" : plan.image.working_dir);
  if (!is_plain_path(config.working_dir)) {
    return base::invalid("workingDir \"" + config.working_dir +
                         "\" must be absolute and without \"..\"");
  }
  config.hostname = pod_hostname(plan.pod);
  config.rootfs = plan.places.rootfs;
  config.netns_path = plan.places.netns_path;
  config.cgroup_path = plan.places.cgroup_path;
  AT_OK(set_user(plan, config));
  set_security(plan.container, config);
  AT_OK(set_limits(plan.container, config.limits));
  AT_OK(add_mounts(plan, config));
  return config;
}

PullPolicy pull_policy(const api::Container& container) {
  const std::string policy = container.image_pull_policy.value_or("");
  if (policy == "Always") return PullPolicy::kAlways;
  if (policy == "Never") return PullPolicy::kNever;
  if (policy == "IfNotPresent") return PullPolicy::kIfNotPresent;
  const auto reference = parse_image_reference(container.image.value_or(""));
  const bool moving = reference && reference->digest.empty() && reference->tag == "latest";
  return moving ? PullPolicy::kAlways : PullPolicy::kIfNotPresent;
}

std::string pod_hostname(const api::Pod& pod) {
  std::string name = pod.spec.hostname.value_or("");
  if (name.empty()) {
    const auto sandbox = pod.metadata.labels.find(std::string(names::kSandboxLabel));
    name = sandbox != pod.metadata.labels.end() ? sandbox->second : pod.metadata.name;
  }
  name = name.substr(0, std::min(name.find('.'), kHostnameBytesMax));
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

std::string format_hosts(const std::string& hostname, const std::string& ip) {
  return "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
         (ip.empty() || ip == "127.0.0.1" ? std::string("127.0.0.1") : ip) + "\t" + hostname + "\n";
}

std::string format_resolv_conf(const std::vector<std::string>& nameservers) {
  std::string text;
  for (const std::string& server : nameservers) text += "nameserver " + server + "\n";
  return text + "options ndots:1\n";
}

}  // namespace agenttier::node
