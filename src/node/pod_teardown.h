#pragma once
// Removes what exists of a pod on this machine, in order: processes, containers, network, mounts
// and files, control group. Named by the pod's UID alone, idempotent, never stopped by what is gone
// already; the folder goes last, so a teardown that a crash cuts short is taken up again.
//
// Example:
//   AT_CO_OK(co_await tear_down_pod(parts, uid, Keep::kNothing));

#include <string>

#include "async/task.h"
#include "base/result.h"
#include "node/node_parts.h"
#include "node/pod_files.h"

namespace agenttier::node {

async::Task<base::Status> tear_down_pod(const NodeParts& parts, std::string pod_uid, Keep keep);

// One container's processes, record and control group; its files stay.
async::Task<base::Status> remove_container(const NodeParts& parts, std::string id,
                                           std::string cgroup);

}  // namespace agenttier::node
