#pragma once
// The OCI runtime's command line: crun, runc, or runsc (gVisor), which share it.
//
// gVisor gets the seccomp profile of the bundle as well, which it does not apply unless told to,
// and its own network stack on the pod's interface.
//
// Guarantees: every call has a time limit; its errors carry the runtime's own last message;
// remove() is idempotent and kills what still runs. The container's streams are the descriptors
// given, never a pipe of this program. The records of the runtimes lie in the state folder, so none
// sees containers of anyone else.
//
// Example:
//   AT_CO_TRY(pid_t pid, co_await runtime.run({.id = id, .bundle = bundle, .stdout_fd =
//   out.get()}));

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/node_paths.h"
#include "os/process.h"

namespace agenttier::node {

enum class RuntimeKind : std::uint8_t { kCrun, kRunc, kGvisor };

// What a pod asks for by runtimeClassName; nothing for a name that this node does not know.
enum class RuntimeClass : std::uint8_t { kNative, kGvisor };
std::optional<RuntimeClass> runtime_class_of(std::string_view name);

struct RunContainer {
  std::string id;
  std::string bundle;  // folder with config.json; the pid file and the log are written beside it
  int stdout_fd = -1;
  int stderr_fd = -1;
  std::vector<int> passed_fds;  // become 3, 4, ... in the container; not for gVisor
  // The mount namespace to start the runtime in, see gvisor_mounts.h; -1: the server's.
  int mount_namespace_fd = -1;
};

class OciRuntime {
 public:
  // The references outlive the runtime. `hidden_mount`: a mount point that the runtime must not
  // see; empty for none.
  OciRuntime(const NodePaths& paths, os::CommandRunner& runner, RuntimeKind kind,
             std::string hidden_mount = "");

  // Creates and starts; the container's pid 1 on this machine when its program has been executed.
  async::Task<base::Result<pid_t>> run(RunContainer container);
  async::Task<base::Status> kill(std::string id, int signal);
  async::Task<base::Status> remove(std::string id);
  // Ids of all containers of this state folder, in any state.
  async::Task<base::Result<std::vector<std::string>>> list();

  RuntimeKind kind() const { return kind_; }
  // Folder of its records, each in a folder or file named by the container's id.
  std::string records() const;
  // Empty, or why it cannot be used: "runsc is not installed: ...".
  static std::string why_missing(RuntimeKind kind);

 private:
  os::Command command(std::vector<std::string> words) const;

  const NodePaths& paths_;
  os::CommandRunner& runner_;
  const RuntimeKind kind_;
  const std::string hidden_mount_;
};

// A container's id: pod, name and how often it was started before.
std::string container_id(const std::string& pod_uid, const std::string& name, int attempt);
// The pod uid of such an id; empty if it is not one.
std::string pod_uid_of(const std::string& container_id);
// The message of the last error in a runtime's JSON log, or of its last line.
std::string last_runtime_error(const std::string& log_text);

}  // namespace agenttier::node
