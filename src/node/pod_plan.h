#pragma once
// From a pod to what its containers are given: pure, but for nothing.
//
// Follows the kubelet where it has a rule: environment order and $(NAME) expansion, command and
// args against the image's entrypoint, users, read-only roots, resource limits. Refuses what would
// let a pod out (host namespaces, host paths, privileged containers, unknown capabilities) with an
// error that names the field.
//
// Example:
//   AT_TRY(auto env, plan_environment(pod, container, sources, facts));
//   AT_TRY(ContainerConfig config, plan_container(input));

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/pod.h"
#include "base/result.h"
#include "node/container.h"
#include "node/image_store.h"
#include "node/oci_image.h"
#include "node/pod_sources.h"

namespace agenttier::node {

using Environment = std::vector<std::pair<std::string, std::string>>;  // in order, names once

// What only the node knows.
struct PodFacts {
  std::string pod_ip;
  std::string node_name;
  std::string host_ip;
};

// kInvalid with the field's path for what this node does not run.
base::Status check_pod(const api::Pod& pod);

base::Result<Environment> plan_environment(const api::Pod& pod, const api::Container& container,
                                           const ImageConfig& image, const PodSources& sources,
                                           const PodFacts& facts);
// "$(NAME)" becomes the variable's value; "$$(NAME)" stays as "$(NAME)"; unknown names stay.
std::string expand_variables(const std::string& text, const Environment& env);

struct UserIds {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool operator==(const UserIds&) const = default;
};
// "", "1000", "1000:1000", "node", "node:staff", looked up in the texts of passwd and group.
base::Result<UserIds> find_image_user(const std::string& user, const std::string& passwd,
                                      const std::string& group);

// Where things are on this machine.
struct ContainerPlaces {
  std::string rootfs;  // merged overlay
  std::string files;   // folder with hosts, hostname, resolv.conf
  std::string netns_path;
  std::string cgroup_path;
  std::string runtime_binary;                    // of the sandbox runtime
  std::map<std::string, std::string> volumes;    // path by volume name
  std::map<std::string, std::string> sub_paths;  // path by mountPath, where there is a subPath
};

struct ContainerPlan {
  const api::Pod& pod;
  const api::Container& container;
  const ImageConfig& image;
  const Environment& env;
  UserIds image_user;
  const ContainerPlaces& places;
};
base::Result<ContainerConfig> plan_container(const ContainerPlan& plan);

PullPolicy pull_policy(const api::Container& container);
// As /etc/hostname and hosts say it: the pod's hostname or its name, at most 63 bytes.
std::string pod_hostname(const api::Pod& pod);
std::string format_hosts(const std::string& hostname, const std::string& ip);
std::string format_resolv_conf(const std::vector<std::string>& nameservers);

}  // namespace agenttier::node
