#pragma once
// The part of a pod that lies on this machine's disk and in its mounts: folders, small files,
// memory and configuration volumes, a container's root.
//
// Everything is below the pod's folder, so removing it is: unmount what is below, remove the tree.
// Calls block and are idempotent: made again after a crash they replace what was half done.
//
// Secret and ConfigMap volumes lie in memory, readable by root and the pod's fsGroup only as their
// mode says. A subPath is resolved component by component without following links.

#include <map>
#include <string>
#include <vector>

#include "api/pod.h"
#include "base/result.h"
#include "node/network.h"
#include "node/node_paths.h"
#include "node/pod_sources.h"

namespace agenttier::node {

// The pod's folder with its fixed sub-folders. Its existence says that something may exist of the
// pod.
base::Status make_pod_folder(const NodePaths& paths, const std::string& pod_uid);

// Paths by volume name. `claims`: path of the claim's data by volume name.
base::Result<std::map<std::string, std::string>> make_pod_volumes(
    const NodePaths& paths, const api::Pod& pod, const PodSources& sources,
    const std::map<std::string, std::string>& claims);

// hosts, hostname and resolv.conf.
base::Status write_network_files(const NodePaths& paths, const api::Pod& pod,
                                 const PodNetwork& network);

struct ContainerRoot {
  std::string bundle;
  std::string merged;
};
// A fresh root for one start of a container: nothing of the start before is left in it.
base::Result<ContainerRoot> make_container_root(const NodePaths& paths, const std::string& pod_uid,
                                                const std::string& container,
                                                const std::string& image_rootfs);

// Paths by mountPath, for the mounts that have a subPath.
base::Result<std::map<std::string, std::string>> make_sub_paths(
    const NodePaths& paths, const std::string& pod_uid, const api::Container& container,
    const std::map<std::string, std::string>& volumes);

enum class Keep : std::uint8_t { kNothing, kLogs };
base::Status remove_pod_files(const NodePaths& paths, const std::string& pod_uid, Keep keep);

// /etc/passwd and /etc/group of an image, wherever its links lead inside it.
std::string read_in_image(const std::string& rootfs, const std::string& path);

}  // namespace agenttier::node
