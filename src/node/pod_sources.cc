#include "node/pod_sources.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <set>
#include <utility>

#include "api/secret.h"
#include "base/bytes.h"
#include "kube/typed.h"
#include "node/json_fields.h"

namespace agenttier::node {

namespace json = boost::json;
using base::Result;
using base::Status;

namespace {

enum class Need : std::uint8_t { kOptional, kRequired };

// Names by whether the pod can start without them.
struct Wanted {
  std::map<std::string, Need> secrets;
  std::map<std::string, Need> config_maps;
};

void want(std::map<std::string, Need>& names, const std::string& name,
          std::optional<bool> optional) {
  Need& need = names.emplace(name, Need::kOptional).first->second;
  if (!optional.value_or(false)) need = Need::kRequired;
}

void add_environment(const api::Container& container, Wanted& wanted) {
  for (const api::EnvFromSource& from : container.env_from) {
    if (from.secret_ref) want(wanted.secrets, from.secret_ref->name, from.secret_ref->optional);
    if (from.config_map_ref) {
      want(wanted.config_maps, from.config_map_ref->name, from.config_map_ref->optional);
    }
  }
  for (const api::EnvVar& variable : container.env) {
    if (!variable.value_from) continue;
    const api::EnvVarSource& from = *variable.value_from;
    if (from.secret_key_ref) {
      want(wanted.secrets, from.secret_key_ref->name, from.secret_key_ref->optional);
    }
    if (from.config_map_key_ref) {
      want(wanted.config_maps, from.config_map_key_ref->name, from.config_map_key_ref->optional);
    }
  }
}

Wanted wanted_by(const api::Pod& pod) {
  Wanted wanted;
  for (const api::Container& container : pod.spec.init_containers) {
    add_environment(container, wanted);
  }
  for (const api::Container& container : pod.spec.containers) add_environment(container, wanted);
  for (const api::Volume& volume : pod.spec.volumes) {
    if (volume.secret) want(wanted.secrets, volume.secret->secret_name, volume.secret->optional);
    if (volume.config_map) {
      want(wanted.config_maps, volume.config_map->name, volume.config_map->optional);
    }
  }
  return wanted;
}

Result<Values> decode_secret(const api::Secret& secret) {
  Values values = secret.string_data;
  for (const auto& [key, encoded] : secret.data) {
    auto decoded = base::from_base64(encoded);
    if (!decoded) return std::move(decoded).error().context("secret " + secret.metadata.name);
    values[key] = *std::move(decoded);
  }
  return values;
}

Result<Values> decode_config_map(const api::ConfigMap& map) {
  Values values = map.data;
  for (const auto& [key, encoded] : map.binary_data) {
    auto decoded = base::from_base64(encoded);
    if (!decoded) return std::move(decoded).error().context("configmap " + map.metadata.name);
    values[key] = *std::move(decoded);
  }
  return values;
}

async::Task<Status> load_secret(kube::Client& client, kube::ObjectKey key, Need need,
                                PodSources& sources) {
  const std::string name = key.name;
  auto secret = co_await kube::get<api::Secret>(client, std::move(key));
  if (!secret && secret.error().code == base::ErrorCode::kNotFound) {
    if (need == Need::kOptional) co_return Status();
    co_return base::not_found("secret \"" + name + "\" not found");
  }
  if (!secret) co_return std::move(secret).error();
  AT_CO_TRY(Values values, decode_secret(*secret));
  sources.secrets[name] = std::move(values);
  co_return Status();
}

async::Task<Status> load_config_map(kube::Client& client, kube::ObjectKey key, Need need,
                                    PodSources& sources) {
  const std::string name = key.name;
  auto map = co_await kube::get<api::ConfigMap>(client, std::move(key));
  if (!map && map.error().code == base::ErrorCode::kNotFound) {
    if (need == Need::kOptional) co_return Status();
    co_return base::not_found("configmap \"" + name + "\" not found");
  }
  if (!map) co_return std::move(map).error();
  AT_CO_TRY(Values values, decode_config_map(*map));
  sources.config_maps[name] = std::move(values);
  co_return Status();
}

// A pull secret that does not exist is not an error, as for the kubelet: the pull will say so.
async::Task<Status> load_pull_secrets(kube::Client& client, std::string ns,
                                      std::vector<std::string> names, PodSources& sources) {
  std::vector<std::string> configs;
  for (const std::string& name : names) {
    PodSources loaded;
    kube::ObjectKey key{ns, name};
    AT_CO_OK(co_await load_secret(client, std::move(key), Need::kOptional, loaded));
    const auto config = loaded.secrets[name].find(".dockerconfigjson");
    if (config != loaded.secrets[name].end()) configs.push_back(config->second);
  }
  AT_CO_TRY(sources.auth_json, merge_docker_configs(configs));
  co_return Status();
}

}  // namespace

async::Task<Result<PodSources>> load_pod_sources(kube::Client& client, api::Pod pod) {
  PodSources sources;
  const Wanted wanted = wanted_by(pod);
  const std::string ns = pod.metadata.ns;
  for (const auto& [name, need] : wanted.secrets) {
    kube::ObjectKey key{ns, name};
    AT_CO_OK(co_await load_secret(client, std::move(key), need, sources));
  }
  for (const auto& [name, need] : wanted.config_maps) {
    kube::ObjectKey key{ns, name};
    AT_CO_OK(co_await load_config_map(client, std::move(key), need, sources));
  }
  std::vector<std::string> pull_secrets;
  for (const auto& reference : pod.spec.image_pull_secrets) pull_secrets.push_back(reference.name);
  AT_CO_OK(co_await load_pull_secrets(client, ns, std::move(pull_secrets), sources));
  co_return sources;
}

Result<std::string> merge_docker_configs(const std::vector<std::string>& texts) {
  json::object auths;
  for (const std::string& text : texts) {
    AT_TRY(const json::object config, parse_json_object(text, "pull secret"));
    const json::object* own = object_field(config, "auths");
    if (own == nullptr) continue;
    for (const auto& [registry, entry] : *own) auths[registry] = entry;
  }
  if (auths.empty()) return std::string();
  json::object merged;
  merged["auths"] = std::move(auths);
  return json::serialize(merged);
}

}  // namespace agenttier::node
