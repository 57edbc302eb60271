#include "node/oci_runtimes.h"

#include "os/file.h"

namespace agenttier::node {

OciRuntimes::OciRuntimes(const NodePaths& paths, os::CommandRunner& runner,
                         const os::Cgroups& cgroups, std::optional<RuntimeKind> native)
    : crun_(paths, runner, RuntimeKind::kCrun, cgroups.hybrid_mount()),
      runc_(paths, runner, RuntimeKind::kRunc),
      gvisor_(paths, runner, RuntimeKind::kGvisor),
      native_(native) {}

OciRuntime& OciRuntimes::native() {
  if (native_) return *native_ == RuntimeKind::kCrun ? crun_ : runc_;
  return OciRuntime::why_missing(RuntimeKind::kCrun).empty() ? crun_ : runc_;
}

OciRuntime& OciRuntimes::of(const std::string& container_id) {
  for (OciRuntime* runtime : {&crun_, &runc_}) {
    if (os::exists(runtime->records() + "/" + container_id)) return *runtime;
  }
  // runsc keeps files named "<id>_sandbox:<id>.state", no folder.
  for (const std::string& name : os::list_directory(gvisor_.records())) {
    if (name.starts_with(container_id + "_")) return gvisor_;
  }
  return native();
}

base::Result<RuntimeKind> parse_native_runtime(const std::string& name) {
  if (name == "crun") return RuntimeKind::kCrun;
  if (name == "runc") return RuntimeKind::kRunc;
  return base::invalid("container runtime \"" + name + "\" is not known: use crun or runc");
}

}  // namespace agenttier::node
