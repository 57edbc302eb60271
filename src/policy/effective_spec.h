#pragma once
// The EffectiveSpec is what a sandbox will be: its own fields over its template's over defaults.
//
// It is the one form that pods, volumes, network policies and pool claims are made from. Lists are
// merged as in template inheritance; `image`, `resources`, `network` and `security` of the sandbox
// replace the template's as a whole, `storage` field by field. The time limits of a template count
// when the sandbox names none.
// spec_hash() of two specs is equal exactly if their pods would be equal but for names: fields that
// act on a running sandbox (time limits, network) do not count.
//
// Example:
//   AT_TRY(auto resolved, resolve_template(*sandbox.spec.template_ref, reach, lookup));
//   AT_TRY(auto effective, make_effective_spec(sandbox.spec, resolved.spec, defaults));

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/sandbox.h"
#include "api/template.h"
#include "base/result.h"

namespace agenttier::policy {

// What a sandbox gets when neither it nor its template says.
struct SpecDefaults {
  std::string image;  // empty: an image must be named
  api::ResourceRequirements resources = standard_resources();
  std::string storage_size = "10Gi";
  std::string storage_class;  // empty: the cluster's default class
  std::string mount_path = "/workspace";
  std::string shell = "/bin/bash";
  std::string mode = "code";

  static api::ResourceRequirements standard_resources();
};

struct EffectiveStorage {
  std::string size;
  std::string storage_class;  // empty: the cluster's default class
  std::string mount_path;
  bool snapshot_on_stop = false;
  bool shared = false;
};

struct EffectiveSpec {
  std::string mode;
  api::ImageSpec image;
  api::ResourceRequirements resources;
  EffectiveStorage storage;
  api::NetworkSpec network;
  std::vector<api::EnvVar> env;
  std::optional<std::chrono::nanoseconds> timeout;
  std::optional<std::chrono::nanoseconds> idle_timeout;
  std::string runtime_class;    // empty: the node's default
  std::string service_account;  // empty: none is named
  bool privileged = false;      // relaxes the sandbox container; it never gets host rights
  std::vector<api::CredentialRef> credentials;
  std::vector<api::Container> sidecars;
  std::vector<api::Container> init_containers;
  api::HarnessSpec harness;
  std::vector<std::string> init_scripts;
  std::vector<api::FileSpec> files;
  std::string clone_from_snapshot;
};

// kInvalid if a duration does not parse, or if no image is known.
base::Result<EffectiveSpec> make_effective_spec(const api::SandboxSpec& sandbox,
                                                const api::SandboxTemplateSpec& merged_template,
                                                const SpecDefaults& defaults);

std::string spec_hash(const EffectiveSpec& spec);

}  // namespace agenttier::policy
