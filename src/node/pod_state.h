#pragma once
// What the agent knows of a pod on this machine, kept in its folder so that a new agent can adopt
// it.
//
// The folder's existence is the intent: whatever may exist of a pod is named by its UID (network,
// control group, container ids), so tearing down needs no file. The file holds facts: it is written
// after a container runs and before anyone is told, so a container that the file does not name was
// never reported and is removed.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/network.h"

namespace agenttier::node {

enum class ContainerRole : std::uint8_t { kInit, kMain };

struct ContainerEnd {
  int exit_code = 0;
  int signal = 0;
  std::string reason;  // "Completed", "Error", "OOMKilled", "ContainerStatusUnknown"
  std::string message;
  std::string started_at;
  std::string finished_at;
  bool operator==(const ContainerEnd&) const = default;
};

struct ContainerState {
  std::string name;
  ContainerRole role = ContainerRole::kMain;
  std::string id;        // of the runtime's container; empty before the first start
  std::string image;     // as the pod names it
  std::string image_id;  // "registry/repository@digest"
  std::string image_digest;
  int restarts = 0;
  pid_t pid = 0;  // 0: does not run
  unsigned long long start_ticks = 0;
  std::string started_at;
  std::optional<ContainerEnd> end;       // how the newest start ended
  std::optional<ContainerEnd> last_end;  // how the one before ended
  bool operator==(const ContainerState&) const = default;
};

struct PodState {
  std::string uid;
  std::string ns;
  std::string name;
  std::string boot_id;  // processes of another boot are gone
  std::string started_at;
  PodNetwork network;
  std::vector<ContainerState> containers;  // init containers first, in order
  bool released = false;                   // everything but the logs is gone
  bool operator==(const PodState&) const = default;
};

base::Result<PodState> parse_pod_state(const std::string& json_text);
std::string format_pod_state(const PodState& state);
std::string current_boot_id();

}  // namespace agenttier::node
