#include "controller/init_containers.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "api/names.h"
#include "controller/pod_security.h"
#include "controller/sandbox_objects.h"

namespace agenttier::controller {
namespace {

namespace names = api::names;

constexpr std::string_view kFilesVolume = "sandbox-files";
constexpr std::string_view kFilesPath = "/.agenttier-files";

// Arguments in fours: directory, source, destination, mode.
constexpr std::string_view kCopyScript =
    "set -e\n"
    "while [ $# -gt 0 ]; do\n"
    "  mkdir -p -- \"$1\"\n"
    "  cp -- \"$2\" \"$3\"\n"
    "  chmod -- \"$4\" \"$3\"\n"
    "  shift 4\n"
    "done\n";

std::string ref_volume(std::size_t index) {
  return fmt::format("file-ref-{}", index);
}
std::string ref_path(std::size_t index) {
  return fmt::format("/.agenttier-ref-{}", index);
}

bool is_reference(const api::FileSpec& file) {
  return !file.content && (file.secret_ref || file.config_map_ref);
}

// Where the content of the n-th file is mounted; nothing for a file without content.
std::optional<std::string> source_of(const api::FileSpec& file, std::size_t index) {
  if (file.content) return fmt::format("{}/{}", kFilesPath, file_key(index));
  if (is_reference(file)) return ref_path(index) + "/content";
  return std::nullopt;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

api::Container helper(const PodInput& input, std::string_view name, const PodOptions& options) {
  api::Container container;
  container.name = name;
  container.image = input.spec.image.repository;
  container.image_pull_policy = input.spec.image.pull_policy;
  container.working_dir = input.spec.storage.mount_path;
  container.volume_mounts = shared_mounts(input.spec.storage.mount_path);
  container.resources = options.helper_resources;
  container.security_context = hardened_context();
  return container;
}

std::optional<api::Container> file_deployer(const PodInput& input, const PodOptions& options) {
  api::Container container = helper(input, kFileDeployer, options);
  container.command = {"/bin/sh", "-c", std::string(kCopyScript), std::string(kFileDeployer)};
  bool any_content = false;
  const std::size_t fixed = container.command.size();
  for (std::size_t i = 0; i < input.spec.files.size(); ++i) {
    const api::FileSpec& file = input.spec.files[i];
    const std::optional<std::string> source = source_of(file, i);
    if (!source) continue;
    any_content = any_content || file.content.has_value();
    for (std::string part : {parent_of(file.path), *source, file.path,
                             fmt::format("{:04o}", file.mode.value_or(0644))}) {
      container.command.push_back(std::move(part));
    }
    if (is_reference(file)) {
      container.volume_mounts.push_back(
          volume_mount(ref_volume(i), ref_path(i), MountAccess::kReadOnly));
    }
  }
  if (container.command.size() == fixed) return std::nullopt;
  if (any_content) {
    container.volume_mounts.push_back(
        volume_mount(kFilesVolume, std::string(kFilesPath), MountAccess::kReadOnly));
  }
  return container;
}

std::optional<api::Container> script_runner(const PodInput& input,
                                            const std::vector<api::EnvVar>& env,
                                            const PodOptions& options) {
  if (input.spec.init_scripts.empty()) return std::nullopt;
  api::Container container = helper(input, kInitScripts, options);
  container.command = {"/bin/sh", "-e", fmt::format("{}/{}", kFilesPath, kInitScriptsKey)};
  container.env = env;
  // Scripts install software: they need what the sandbox itself has.
  container.resources = input.spec.resources;
  container.volume_mounts.push_back(
      volume_mount(kFilesVolume, std::string(kFilesPath), MountAccess::kReadOnly));
  return container;
}

// The one key that a file refers to, under a fixed name.
api::Volume reference_volume(const api::FileSpec& file, std::size_t index) {
  api::Volume volume;
  volume.name = ref_volume(index);
  api::KeyToPath item;
  item.path = "content";
  if (file.secret_ref) {
    item.key = file.secret_ref->key;
    volume.secret.emplace().secret_name = file.secret_ref->name;
    volume.secret->items = {item};
    volume.secret->default_mode = 0440;
    volume.secret->optional = file.secret_ref->optional;
  } else {
    item.key = file.config_map_ref->key;
    volume.config_map.emplace().name = file.config_map_ref->name;
    volume.config_map->items = {item};
    volume.config_map->optional = file.config_map_ref->optional;
  }
  return volume;
}

}  // namespace

std::vector<api::Container> setup_containers(const PodInput& input,
                                             const std::vector<api::EnvVar>& env,
                                             const PodOptions& options) {
  std::vector<api::Container> containers;
  if (auto deployer = file_deployer(input, options)) containers.push_back(*std::move(deployer));
  if (auto scripts = script_runner(input, env, options)) containers.push_back(*std::move(scripts));
  return containers;
}

void add_setup_volumes(const PodInput& input, api::Pod& pod) {
  if (needs_files_secret(input.spec)) {
    api::Volume volume;
    volume.name = kFilesVolume;
    volume.secret.emplace().secret_name = names::files_secret_of(input.sandbox.metadata.name);
    volume.secret->default_mode = 0440;
    pod.spec.volumes.push_back(std::move(volume));
  }
  for (std::size_t i = 0; i < input.spec.files.size(); ++i) {
    if (is_reference(input.spec.files[i])) {
      pod.spec.volumes.push_back(reference_volume(input.spec.files[i], i));
    }
  }
}

}  // namespace agenttier::controller
