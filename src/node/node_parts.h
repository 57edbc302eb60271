#pragma once
// What every pod's worker uses: the parts of the node agent, by reference. The agent owns them and
// outlives its workers.

#include <string>

#include "async/blocking_pool.h"
#include "async/task.h"
#include "async/timers.h"
#include "base/random.h"
#include "kube/client.h"
#include "node/image_store.h"
#include "node/network.h"
#include "node/node_paths.h"
#include "node/oci_runtimes.h"
#include "os/cgroup.h"

namespace agenttier::node {

class Claims;

struct NodeIdentity {
  std::string name;            // of the Node object
  std::string ip;              // of this machine; may be empty
  std::string runtime_binary;  // path of the sandbox runtime, mounted into sandboxes
};

struct NodeParts {
  const NodeIdentity& identity;
  const NodePaths& paths;
  async::Executor executor;
  async::Timers& timers;
  base::Random& random;
  async::BlockingPool& blocking;
  kube::Client& client;
  Network& network;
  ImageStore& images;
  Claims& claims;
  OciRuntimes& runtimes;
  const os::Cgroups& cgroups;
};

}  // namespace agenttier::node
