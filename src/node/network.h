#pragma once
// A Network gives each pod a network namespace, an address and the rules it lives under.
//
// Guarantees of every implementation:
// - set_up is idempotent for a pod UID: called again it returns what exists, or finishes what a
// crash
//   left half done. The namespace is a bind-mounted file, so it lives without any process in it.
// - From the first moment the pod stands under the policies last given to apply_policies. A pod
// that
//   no policy selects is closed: it sends nothing and receives only from this host's control plane.
// - No rule ever opens the host, the control plane, the metadata address or another sandbox unless
// a
//   policy names it (the implementation's README says which).
// - tear_down is idempotent, never fails because something is gone already, and frees the address
//   only after the namespace is gone.
//
// Identity is the pod's UID; names are for messages and may be reused the same second.
// NullNetwork is the twin for tests: real, empty namespaces with only a loopback device, no rules.
//
// Example:
//   AT_CO_TRY(PodNetwork network, co_await network_.set_up(pod));
//   ... start containers that join network.netns_path ...
//   AT_CO_OK(co_await network_.tear_down(pod.uid));

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/result.h"

namespace agenttier::api {
struct NetworkPolicy;  // api/network_policy.h (generated)
}

namespace agenttier::async {
class BlockingPool;
}

namespace agenttier::node {

using Labels = std::map<std::string, std::string>;

struct NetworkedPod {
  std::string uid;
  std::string ns;
  std::string name;
  Labels labels;
  bool operator==(const NetworkedPod&) const = default;
};

struct PodNetwork {
  std::string ip;                        // "10.88.0.2"
  std::string netns_path;                // absolute path that a container's namespace joins
  std::string host_interface;            // the veth's end on the host; empty if there is none
  std::vector<std::string> nameservers;  // for the pod's /etc/resolv.conf
  bool operator==(const PodNetwork&) const = default;
};

// Everything that rules are compiled from, as the API knows it now.
struct NetworkRules {
  std::vector<NetworkedPod> pods;                  // all pods of this node that are not finished
  std::vector<api::NetworkPolicy> policies;        // of all namespaces
  std::map<std::string, Labels> namespace_labels;  // by namespace name
};

class Network {
 public:
  virtual ~Network() = default;

  virtual async::Task<base::Result<PodNetwork>> set_up(NetworkedPod pod) = 0;
  virtual async::Task<base::Status> tear_down(std::string pod_uid) = 0;

  // Replaces all rules atomically. Pods in `rules` that are not set up yet get theirs in set_up.
  virtual async::Task<base::Status> apply_policies(NetworkRules rules) = 0;

  // Once, before any other call: adopts the networks of the known pods that still exist, removes
  // every namespace, interface, rule and address of ours that none of them owns.
  virtual async::Task<base::Status> recover(std::vector<std::string> known_pod_uids) = 0;

  // Until it is cancelled: keeps what set_up can hand out at once, and frees it at the end.
  virtual async::Task<void> keep_spares() { co_return; }
};

// Namespaces with a loopback device under `netns_dir`; every pod has the address 127.0.0.1.
std::unique_ptr<Network> make_null_network(async::BlockingPool& blocking, std::string netns_dir);

}  // namespace agenttier::node
