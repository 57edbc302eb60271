#pragma once
// What an earlier agent left on this machine: found by name, whatever its files still say.

#include <set>
#include <string>

#include "async/task.h"
#include "base/result.h"
#include "node/node_parts.h"

namespace agenttier::node {

// Kills runtime calls of a killed agent that are still at work in this state folder, so that
// nothing appears after the tidying.
async::Task<base::Status> end_leftover_tools(const NodeParts& parts);
async::Task<base::Status> empty_tmp(const NodeParts& parts);

// Uids of every pod of which something may exist: folders, containers, control groups.
async::Task<base::Result<std::set<std::string>>> find_pod_uids(const NodeParts& parts);

}  // namespace agenttier::node
