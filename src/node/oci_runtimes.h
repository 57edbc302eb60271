#pragma once
// The OCI runtimes of a node: the native one, which starts what asks for no runtime class, and
// gVisor. A container stays with the runtime that started it, also when another start of the agent
// chooses another native one.
//
// crun is preferred: it takes about a third of runc's time. It refuses the hybrid layout of control
// groups when version 2 has a controller, so there it runs without sight of version 2.

#include <array>
#include <optional>
#include <string>

#include "node/oci_runtime.h"
#include "os/cgroup.h"

namespace agenttier::node {

class OciRuntimes {
 public:
  // The references outlive it. `native`: crun or runc; none: crun if it is installed, else runc.
  OciRuntimes(const NodePaths& paths, os::CommandRunner& runner, const os::Cgroups& cgroups,
              std::optional<RuntimeKind> native);

  OciRuntime& native();
  OciRuntime& gvisor() { return gvisor_; }
  // The one that has a record of the container; native() if none has.
  OciRuntime& of(const std::string& container_id);
  std::array<OciRuntime*, 3> all() { return {&crun_, &runc_, &gvisor_}; }

 private:
  OciRuntime crun_;
  OciRuntime runc_;
  OciRuntime gvisor_;
  const std::optional<RuntimeKind> native_;
};

// "crun" or "runc"; kInvalid otherwise.
base::Result<RuntimeKind> parse_native_runtime(const std::string& name);

}  // namespace agenttier::node
