#pragma once
// The init containers that put a template's files in place and run its init scripts.
//
// Contents travel in Secrets that are mounted read-only; the copying container gets paths and modes
// as arguments to a fixed script, so nothing of a template is ever parsed by a shell, except the
// init scripts, which are shell scripts and are run from a file. Both run at every start of the
// pod.

#include <vector>

#include "api/pod.h"
#include "controller/pod_builder.h"

namespace agenttier::controller {

inline constexpr std::string_view kFileDeployer = "file-deployer";
inline constexpr std::string_view kInitScripts = "init-scripts";

// None if the specification has neither files nor scripts.
std::vector<api::Container> setup_containers(const PodInput& input,
                                             const std::vector<api::EnvVar>& env,
                                             const PodOptions& options);
// The volumes they read from.
void add_setup_volumes(const PodInput& input, api::Pod& pod);

}  // namespace agenttier::controller
