#pragma once
// The pod of a sandbox: hardened, with the runtime as pid 1 of its main container.
//
// Guarantees, whatever the specification says: uid, gid and fsGroup 1000, never root; no
// capabilities, no privilege escalation, the default seccomp profile; a read-only root file system;
// an in-memory /tmp of limited size; no service account token, no service links, nothing of the
// host. Sidecars and init containers live under the same walls. `privileged` in the specification
// lifts the read-only root and the seccomp profile of the sandbox container, nothing else.
//
// Files of a template are copied byte for byte from a Secret by an init container whose arguments
// are data, never shell text; init scripts are run from that Secret as a file.
//
// Pure: the same input gives the same pod.
//
// Example:
//   api::Pod pod = build_pod({.sandbox = sandbox, .spec = effective, .volume_name = volume,
//                             .token_sha256 = api::sha256_hex(token)}, options);

#include <string>
#include <vector>

#include "api/pod.h"
#include "api/sandbox.h"
#include "policy/effective_spec.h"

namespace agenttier::controller {

struct PodOptions {
  std::string tmp_size = "256Mi";
  std::int64_t grace_seconds = 5;
  // The one node of a machine without scheduler; empty: a scheduler chooses. A pod of a node is
  // ended by that node before its object goes.
  std::string node_name;
  // Of init containers and sidecars that name none.
  api::ResourceRequirements helper_resources = standard_helper_resources();

  static api::ResourceRequirements standard_helper_resources();
};

struct PodInput {
  const api::Sandbox& sandbox;
  const policy::EffectiveSpec& spec;
  std::string volume_name;
  std::string token_sha256;   // hex; all that the sandbox learns of its token
  std::string template_name;  // for the label; may be empty
};

api::Pod build_pod(const PodInput& input, const PodOptions& options);

// What build_pod wrote into the pod: the hash of its token and of its specification.
std::string token_sha256_of(const api::Pod& pod);
std::string spec_hash_of(const api::Pod& pod);
// Whether a command of the template's is the pod's main process.
bool has_main_command(const api::Pod& pod);

}  // namespace agenttier::controller
