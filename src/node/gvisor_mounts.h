#pragma once
// The view of the file system in which runsc is started.
//
// runsc refuses to start in the machine's own network namespace and tells it by a file below
// /proc/sys/net/core, which Linux has shown in every network namespace since 6.11: runsc releases
// before 2024 then refuse every sandbox. In this view the folder is empty for the pod's namespace,
// which this program knows not to be the machine's. Nothing else differs, and no other process sees
// it; the view ends with the processes that were started in it.
//
// Example:
//   AT_TRY(os::Fd view, make_gvisor_mounts(network.netns_path));
//   command = {"nsenter", "--mount=/proc/self/fd/3", ...};

#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace agenttier::node {

// A mount namespace, by its descriptor. Blocks for some milliseconds.
base::Result<os::Fd> make_gvisor_mounts(const std::string& netns_path);

}  // namespace agenttier::node
