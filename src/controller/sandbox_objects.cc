#include "controller/sandbox_objects.h"

#include <utility>

#include "api/meta.h"
#include "api/names.h"
#include "base/bytes.h"

namespace agenttier::controller {

namespace names = api::names;

api::ObjectMeta owned_meta(const api::Sandbox& sandbox, std::string name) {
  api::ObjectMeta meta;
  meta.name = std::move(name);
  meta.ns = sandbox.metadata.ns;
  meta.labels[std::string(names::kSandboxLabel)] = sandbox.metadata.name;
  meta.labels[std::string(names::kManagedLabel)] = names::kTrue;
  meta.owner_references.push_back(api::controller_reference(api::Sandbox::kType, sandbox.metadata));
  return meta;
}

api::Secret build_token_secret(const api::Sandbox& sandbox, std::string_view token) {
  api::Secret secret;
  secret.metadata = owned_meta(sandbox, names::token_secret_of(sandbox.metadata.name));
  secret.metadata.labels[std::string(names::kSecretPurposeLabel)] = names::kPurposeRuntimeToken;
  secret.type = "Opaque";
  secret.data[std::string(names::kTokenKey)] = base::to_base64(token);
  return secret;
}

std::string token_of(const api::Secret& secret) {
  const auto found = secret.data.find(std::string(names::kTokenKey));
  if (found == secret.data.end()) return "";
  return base::from_base64(found->second).value_or("");
}

bool needs_files_secret(const policy::EffectiveSpec& spec) {
  if (!spec.init_scripts.empty()) return true;
  for (const api::FileSpec& file : spec.files) {
    if (file.content) return true;
  }
  return false;
}

std::string file_key(std::size_t index) {
  return "file-" + std::to_string(index);
}

api::Secret build_files_secret(const api::Sandbox& sandbox, const policy::EffectiveSpec& spec) {
  api::Secret secret;
  secret.metadata = owned_meta(sandbox, names::files_secret_of(sandbox.metadata.name));
  secret.metadata.annotations[std::string(names::kSpecHashAnnotation)] = policy::spec_hash(spec);
  secret.type = "Opaque";
  for (std::size_t i = 0; i < spec.files.size(); ++i) {
    if (spec.files[i].content) secret.data[file_key(i)] = base::to_base64(*spec.files[i].content);
  }
  std::string scripts;
  for (const std::string& script : spec.init_scripts) scripts += script + "\n";
  if (!scripts.empty()) secret.data[std::string(kInitScriptsKey)] = base::to_base64(scripts);
  return secret;
}

api::PersistentVolumeClaim build_volume(const api::Sandbox& sandbox,
                                        const policy::EffectiveSpec& spec) {
  api::PersistentVolumeClaim claim;
  claim.metadata = owned_meta(sandbox, names::claim_of(sandbox.metadata.name));
  claim.spec.access_modes = {spec.storage.shared ? "ReadWriteMany" : "ReadWriteOnce"};
  claim.spec.resources.emplace().requests["storage"] = spec.storage.size;
  if (!spec.storage.storage_class.empty())
    claim.spec.storage_class_name = spec.storage.storage_class;
  if (!spec.clone_from_snapshot.empty()) {
    claim.metadata.labels[std::string(names::kClonedFromSnapshotLabel)] =
        names::label_value_of(spec.clone_from_snapshot);
    api::TypedObjectReference& source = claim.spec.data_source.emplace();
    const std::string_view from = spec.clone_from_snapshot;
    if (from.starts_with(names::kCloneFromClaimPrefix)) {
      source.kind = api::PersistentVolumeClaim::kType.kind;
      source.name = from.substr(names::kCloneFromClaimPrefix.size());
    } else {
      source.api_group = "snapshot.storage.k8s.io";
      source.kind = "VolumeSnapshot";
      source.name = from;
    }
  }
  return claim;
}

}  // namespace agenttier::controller
