#pragma once
// The one layout of the state folder. Whoever needs a path asks here; nobody else joins names.
//
//   <state>/                          0700, default /var/lib/agenttier
//     node.lock                       held by the one node agent that owns this folder
//     runc/ crun/ runsc/              records of the OCI runtimes, by container id
//     tmp/                            half-done work; emptied at every start
//     images/
//       local/<repository>/           OCI layouts put here by image builds ("agenttier/minimal")
//       records/<sha256 of name>.json what a name stands for: digest, where it came from
//       rootfs/sha256-<hex>/          one unpacked image, never changed once it has this name
//         rootfs/                     its files: the lower layer of every container made from it
//         image.json                  its configuration (entrypoint, environment, user)
//     volumes/<claim uid>/            one persistent volume
//       data/                         what the sandbox sees
//     sandboxes/<pod uid>/            one pod; removed when nobody owns it
//       state.json                    what was set up so far; written before each step
//       files/                        hosts, hostname, resolv.conf
//       volumes/<name>/               emptyDir, Secret and ConfigMap volumes
//       logs/<container>.log[.1]      output, newest and the one before
//       logs/<container>.out, .err    fifos that the container writes and the agent reads
//       containers/<container>/
//         bundle/config.json          the OCI bundle
//         upper/ work/ merged/        overlay: changes, kernel's scratch, what the container sees
//
// `instance` names what exists outside the folder (control groups, network namespaces, interfaces):
// eight hex digits of a hash of the folder's absolute path. So two servers on one machine never
// touch each other's, and a server that lost its folder still finds and removes what it left.

#include <string>

#include "base/result.h"

namespace agenttier::node {

inline constexpr const char* kDefaultStateFolder = "/var/lib/agenttier";

class NodePaths {
 public:
  // kInvalid for a path that is not absolute or too long to mount from.
  static base::Result<NodePaths> make(const std::string& state_folder);

  const std::string& state() const { return state_; }
  const std::string& instance() const { return instance_; }

  std::string lock() const { return state_ + "/node.lock"; }
  std::string runc() const { return state_ + "/runc"; }
  std::string crun() const { return state_ + "/crun"; }
  std::string runsc() const { return state_ + "/runsc"; }
  std::string tmp() const { return state_ + "/tmp"; }

  std::string local_images() const { return state_ + "/images/local"; }
  std::string image_records() const { return state_ + "/images/records"; }
  std::string image_roots() const { return state_ + "/images/rootfs"; }
  std::string image_root(const std::string& digest) const;  // "sha256:<hex>"

  std::string network() const { return state_ + "/network"; }
  std::string volumes() const { return state_ + "/volumes"; }
  std::string volume(const std::string& claim_uid) const { return volumes() + "/" + claim_uid; }
  std::string volume_data(const std::string& claim_uid) const {
    return volume(claim_uid) + "/data";
  }

  std::string sandboxes() const { return state_ + "/sandboxes"; }
  std::string sandbox(const std::string& pod_uid) const { return sandboxes() + "/" + pod_uid; }
  std::string sandbox_state(const std::string& pod_uid) const {
    return sandbox(pod_uid) + "/state.json";
  }
  std::string sandbox_files(const std::string& pod_uid) const {
    return sandbox(pod_uid) + "/files";
  }
  std::string sandbox_volume(const std::string& pod_uid, const std::string& name) const {
    return sandbox(pod_uid) + "/volumes/" + name;
  }
  std::string logs(const std::string& pod_uid) const { return sandbox(pod_uid) + "/logs"; }
  std::string container(const std::string& pod_uid, const std::string& name) const {
    return sandbox(pod_uid) + "/containers/" + name;
  }

  // Control group of a pod and of its container, relative to each tree.
  std::string cgroup_root() const { return "/agenttier-" + instance_; }
  std::string pod_cgroup(const std::string& pod_uid) const { return cgroup_root() + "/" + pod_uid; }
  std::string container_cgroup(const std::string& pod_uid, const std::string& name) const {
    return pod_cgroup(pod_uid) + "/" + name;
  }

  // Makes every fixed folder; what exists is kept.
  base::Status make_folders() const;

 private:
  std::string state_;
  std::string instance_;
};

// A UID from the API becomes part of paths: letters, digits and '-' only, at most 64.
base::Status check_uid(const std::string& uid);

}  // namespace agenttier::node
