#pragma once
// The objects of a sandbox besides its pod and its network policy: the Secret with the runtime's
// token, the Secret with the template's files, and the volume.
//
// Pure functions. Every object carries the sandbox's labels and an owner reference by UID; its name
// follows from the sandbox's (api/names.h), so making it twice is one object.

#include <string>
#include <string_view>

#include "api/sandbox.h"
#include "api/secret.h"
#include "api/volume_claim.h"
#include "policy/effective_spec.h"

namespace agenttier::controller {

// Name, namespace, labels and owner of an object of the sandbox.
api::ObjectMeta owned_meta(const api::Sandbox& sandbox, std::string name);

api::Secret build_token_secret(const api::Sandbox& sandbox, std::string_view token);
// The token that a Secret holds; empty if it holds none.
std::string token_of(const api::Secret& secret);

// Whether the specification has files or scripts that need a Secret.
bool needs_files_secret(const policy::EffectiveSpec& spec);
// Key "file-<n>" for the n-th file with content, "init-scripts" for the scripts.
api::Secret build_files_secret(const api::Sandbox& sandbox, const policy::EffectiveSpec& spec);
std::string file_key(std::size_t index);
inline constexpr std::string_view kInitScriptsKey = "init-scripts";

api::PersistentVolumeClaim build_volume(const api::Sandbox& sandbox,
                                        const policy::EffectiveSpec& spec);

}  // namespace agenttier::controller
