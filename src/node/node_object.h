#pragma once
// The Node object and its heartbeat: what this machine has, and that its agent lives.

#include "api/cluster.h"
#include "async/task.h"
#include "node/node_parts.h"

namespace agenttier::node {

// Capacity, addresses and conditions as of now; pure but for reading the machine.
api::Node describe_node(const NodeIdentity& identity, const NodePaths& paths, bool has_gvisor,
                        const std::string& now);

// Creates or updates the Node, then renews its Lease once a minute and the conditions every five,
// until the task is cancelled.
async::Task<void> keep_node_object(const NodeParts& parts);

}  // namespace agenttier::node
