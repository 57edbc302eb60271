#pragma once
// The Secrets and ConfigMaps that a pod names, read once before its containers are made.
//
// Values are decoded bytes. A source that does not exist and is not optional is kNotFound, named
// with the field that asks for it. Secret bytes are never logged.
//
// Example:
//   AT_CO_TRY(PodSources sources, co_await load_pod_sources(client, pod));

#include <map>
#include <optional>
#include <string>

#include "api/pod.h"
#include "async/task.h"
#include "base/result.h"
#include "kube/client.h"

namespace agenttier::node {

using Values = std::map<std::string, std::string>;

struct PodSources {
  std::map<std::string, Values> secrets;      // by name; only those that exist
  std::map<std::string, Values> config_maps;  // by name
  std::string auth_json;                      // of imagePullSecrets, merged; empty without any
};

// The pod is copied; the client outlives the task.
async::Task<base::Result<PodSources>> load_pod_sources(kube::Client& client, api::Pod pod);

// Merges docker configurations (".dockerconfigjson") into one; kInvalid if one is not JSON.
base::Result<std::string> merge_docker_configs(const std::vector<std::string>& texts);

}  // namespace agenttier::node
