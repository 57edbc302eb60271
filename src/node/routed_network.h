#pragma once
// A RoutedNetwork joins each pod to this machine by a veth of its own and a host route: no bridge,
// so no frame ever passes between sandboxes unless the machine forwards it, and every packet meets
// the same nftables rules.
//
// In the pod: eth0 with its address/32, the gateway on the link, a default route through it.
// On the host: the veth's other end holds the gateway's address/32 and a route to the pod.
// Rules (table inet agenttier_<instance>): from a pod nothing reaches the host itself but answers
// to what the host asked; a source address other than the pod's own is dropped; link-local and
// metadata addresses (169.254.0.0/16) and other pods are closed even where a policy opens
// 0.0.0.0/0; policies hold for open connections too, since only answers pass without a look at the
// rules.
//
// Recovery: slot numbers are the names of the namespace files, and `pods/<uid>` names a pod's slot,
// so what a crash left is found again from the folder and the kernel alone.
//
// Example:
//   AT_CO_TRY(auto network, RoutedNetwork::open(executor, blocking, {.state_dir = dir}));
//   AT_CO_OK(co_await network->recover(known_uids));

#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/result.h"
#include "node/network.h"

namespace agenttier::node {

struct RoutedNetworkOptions {
  std::string state_dir;                 // absolute; holds netns/, pods/ and subnet
  std::string subnet;                    // "10.213.0.0/16"; empty: the first free one from there on
  std::vector<std::string> nameservers;  // for resolv.conf; may be empty
};

// The nftables table of the instance that keeps its state there.
std::string network_table(const std::string& state_dir);

// Blocks for a few milliseconds; call it once at start. kDenied without CAP_NET_ADMIN, kUnavailable
// with the facility's name when the kernel lacks one.
base::Result<std::unique_ptr<Network>> open_routed_network(async::Executor executor,
                                                           async::BlockingPool& blocking,
                                                           RoutedNetworkOptions options);

}  // namespace agenttier::node
