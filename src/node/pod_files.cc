#include "node/pod_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sstream>

#include "api/quantity.h"
#include "node/pod_plan.h"
#include "os/file.h"
#include "os/mount.h"

namespace agenttier::node {

using base::Result;
using base::Status;
using os::Fd;

namespace {

constexpr std::uint64_t kConfigVolumeBytesMax = 4UL << 20U;
constexpr std::uint64_t kMemoryInodesMax = 1UL << 18U;
constexpr std::int64_t kDefaultFileMode = 0644;
constexpr std::size_t kImageFileBytesMax = 1UL << 20U;

std::uint32_t fs_group(const api::Pod& pod) {
  if (!pod.spec.security_context || !pod.spec.security_context->fs_group) return 0;
  return static_cast<std::uint32_t>(*pod.spec.security_context->fs_group);
}

// A key's path inside its volume: relative, without "..".
bool is_inner_path(const std::string& path) {
  if (path.empty() || path[0] == '/' || path.find('\0') != std::string::npos) return false;
  std::istringstream parts(path);
  std::string part;
  while (std::getline(parts, part, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

struct ConfigFile {
  std::string path;
  std::string bytes;
  std::int64_t mode;
};

Result<std::vector<ConfigFile>> config_files(const Values& values,
                                             const std::vector<api::KeyToPath>& items,
                                             std::optional<std::int64_t> default_mode,
                                             std::optional<bool> optional,
                                             const std::string& name) {
  const std::int64_t mode = default_mode.value_or(kDefaultFileMode);
  std::vector<ConfigFile> files;
  if (items.empty()) {
    for (const auto& [key, bytes] : values) files.push_back({key, bytes, mode});
  }
  for (const api::KeyToPath& item : items) {
    const auto value = values.find(item.key);
    if (value != values.end()) {
      files.push_back({item.path, value->second, item.mode.value_or(mode)});
    } else if (!optional.value_or(false)) {
      return base::not_found("volume \"" + name + "\": there is no key \"" + item.key + "\"");
    }
  }
  for (const ConfigFile& file : files) {
    if (!is_inner_path(file.path)) {
      return base::invalid("volume \"" + name + "\": path \"" + file.path +
                           "\" must be relative and without \"..\"");
    }
  }
  return files;
}

Status write_config_volume(const std::string& target, const std::vector<ConfigFile>& files,
                           std::uint32_t group) {
  AT_OK(os::mount_tmpfs({.target = target, .bytes_max = kConfigVolumeBytesMax, .mode = 0755}));
  for (const ConfigFile& file : files) {
    const std::string path = target + "/" + file.path;
    AT_OK(os::make_directories(path.substr(0, path.find_last_of('/')), 0755));
    // The group reads what its owner reads, as the kubelet gives fsGroup its files.
    const auto owner_bits = static_cast<unsigned>(file.mode) & 0777U;
    const unsigned mode = group == 0 ? owner_bits : owner_bits | ((owner_bits & 0400U) >> 3U);
    AT_OK(os::write_file_unsynced(path, file.bytes, mode));
    AT_OK(os::change_owner(path, 0, group));
  }
  return {};
}

Status make_empty_dir(const std::string& target, const api::EmptyDirVolumeSource& source,
                      std::uint32_t group) {
  if (source.medium.value_or("") != "Memory") {
    // Whatever user runs in the pod may use it, new files go to the pod's group.
    AT_OK(os::change_owner(target, 0, group));
    return os::change_mode(target, group == 0 ? 0777 : 02777);
  }
  os::TmpfsMount mount{
      .target = target, .inodes_max = kMemoryInodesMax, .mode = 01777, .gid = group};
  if (source.size_limit) {
    AT_TRY(const std::int64_t bytes, api::parse_bytes(*source.size_limit));
    mount.bytes_max = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 4096));
  }
  return os::mount_tmpfs(mount);
}

const Values& values_of(const std::map<std::string, Values>& sources, const std::string& name) {
  static const Values kNone;
  const auto found = sources.find(name);
  return found == sources.end() ? kNone : found->second;
}

Status make_volume(const api::Volume& volume, const std::string& target, const PodSources& sources,
                   std::uint32_t group) {
  AT_OK(os::unmount(target));
  AT_OK(os::remove_tree(target));
  AT_OK(os::make_directories(target, 0755));
  if (volume.empty_dir) return make_empty_dir(target, *volume.empty_dir, group);
  if (volume.secret) {
    const api::SecretVolumeSource& source = *volume.secret;
    AT_TRY(const auto files,
           config_files(values_of(sources.secrets, source.secret_name), source.items,
                        source.default_mode, source.optional, volume.name));
    return write_config_volume(target, files, group);
  }
  const api::ConfigMapVolumeSource& source = *volume.config_map;
  AT_TRY(const auto files, config_files(values_of(sources.config_maps, source.name), source.items,
                                        source.default_mode, source.optional, volume.name));
  return write_config_volume(target, files, group);
}

Result<Fd> open_component(int parent, const std::string& name, const std::string& whole) {
  constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  Fd fd(::openat(parent, name.c_str(), kFlags));
  if (!fd.is_open() && errno == ENOENT) {
    if (::mkdirat(parent, name.c_str(), 0755) != 0 ||
        ::fchownat(parent, name.c_str(), 1000, 1000, AT_SYMLINK_NOFOLLOW) != 0) {
      return base::from_errno("subPath " + whole, errno);
    }
    fd = Fd(::openat(parent, name.c_str(), kFlags));
  }
  struct stat info;
  if (!fd.is_open() || ::fstat(fd.get(), &info) != 0) {
    return base::from_errno("subPath " + whole, errno);
  }
  if (S_ISLNK(info.st_mode)) {
    return base::denied("subPath " + whole + ": goes through a symbolic link");
  }
  return fd;
}

Result<Fd> open_sub_path(const std::string& volume, const std::string& sub_path) {
  if (!is_inner_path(sub_path)) {
    return base::invalid("subPath \"" + sub_path + "\" must be relative and without \"..\"");
  }
  AT_TRY(Fd at, os::open_file(volume, O_PATH | O_DIRECTORY));
  std::istringstream parts(sub_path);
  std::string part;
  while (std::getline(parts, part, '/')) {
    AT_TRY(at, open_component(at.get(), part, sub_path));
  }
  return at;
}

Status bind_sub_path(const std::string& volume, const std::string& sub_path,
                     const std::string& target) {
  AT_TRY(const Fd source, open_sub_path(volume, sub_path));
  struct stat info;
  if (::fstat(source.get(), &info) != 0) return base::from_errno("subPath " + sub_path, errno);
  AT_OK(os::unmount(target));
  AT_OK(os::remove_tree(target));
  if (S_ISDIR(info.st_mode)) {
    AT_OK(os::make_directories(target, 0755));
  } else {
    AT_OK(os::write_file_unsynced(target, "", 0600));
  }
  return os::bind_mount_fd(source.get(), target);
}

}  // namespace

Status make_pod_folder(const NodePaths& paths, const std::string& pod_uid) {
  AT_OK(check_uid(pod_uid));
  AT_OK(os::make_directories(paths.sandbox(pod_uid), 0700));
  for (const std::string& folder : {paths.sandbox_files(pod_uid), paths.logs(pod_uid)}) {
    AT_OK(os::make_directories(folder, 0755));
  }
  return {};
}

Result<std::map<std::string, std::string>> make_pod_volumes(
    const NodePaths& paths, const api::Pod& pod, const PodSources& sources,
    const std::map<std::string, std::string>& claims) {
  std::map<std::string, std::string> result = claims;
  for (const api::Volume& volume : pod.spec.volumes) {
    if (volume.persistent_volume_claim) continue;
    const std::string target = paths.sandbox_volume(pod.metadata.uid, volume.name);
    const Status made = make_volume(volume, target, sources, fs_group(pod));
    if (!made) return base::Error(made.error()).context("volume \"" + volume.name + "\"");
    result[volume.name] = target;
  }
  return result;
}

Status write_network_files(const NodePaths& paths, const api::Pod& pod, const PodNetwork& network) {
  const std::string folder = paths.sandbox_files(pod.metadata.uid);
  const std::string hostname = pod_hostname(pod);
  AT_OK(os::write_file_unsynced(folder + "/hosts", format_hosts(hostname, network.ip), 0644));
  AT_OK(os::write_file_unsynced(folder + "/hostname", hostname + "\n", 0644));
  return os::write_file_unsynced(folder + "/resolv.conf", format_resolv_conf(network.nameservers),
                                 0644);
}

Result<ContainerRoot> make_container_root(const NodePaths& paths, const std::string& pod_uid,
                                          const std::string& container,
                                          const std::string& image_rootfs) {
  const std::string folder = paths.container(pod_uid, container);
  const std::string bundle = folder + "/bundle", merged = folder + "/merged";
  if (os::exists(folder)) {
    AT_OK(os::unmount_below(folder));
    AT_OK(os::remove_tree(folder));
  }
  AT_OK(os::make_directories(folder, 0700));
  AT_OK(os::make_directories(bundle, 0700));
  AT_OK(os::make_directories(folder + "/upper", 0755));
  AT_OK(os::make_directories(folder + "/work", 0700));
  AT_OK(os::make_directories(merged, 0755));
  AT_OK(os::mount_overlay({.lower = image_rootfs,
                           .upper = folder + "/upper",
                           .work = folder + "/work",
                           .target = merged}));
  return ContainerRoot{bundle, merged};
}

Result<std::map<std::string, std::string>> make_sub_paths(
    const NodePaths& paths, const std::string& pod_uid, const api::Container& container,
    const std::map<std::string, std::string>& volumes) {
  std::map<std::string, std::string> result;
  const std::string folder = paths.sandbox(pod_uid) + "/subpaths";
  for (std::size_t i = 0; i < container.volume_mounts.size(); ++i) {
    const api::VolumeMount& mount = container.volume_mounts[i];
    if (mount.sub_path_expr) {
      return base::invalid("volumeMounts: subPathExpr is not supported; use subPath");
    }
    const auto volume = volumes.find(mount.name);
    if (mount.sub_path.value_or("").empty() || volume == volumes.end()) continue;
    AT_OK(os::make_directories(folder, 0700));
    const std::string target = folder + "/" + container.name + "-" + std::to_string(i);
    AT_OK(bind_sub_path(volume->second, *mount.sub_path, target));
    result[mount.mount_path] = target;
  }
  return result;
}

Status remove_pod_files(const NodePaths& paths, const std::string& pod_uid, Keep keep) {
  AT_OK(check_uid(pod_uid));
  const std::string folder = paths.sandbox(pod_uid);
  if (!os::exists(folder)) return {};
  AT_OK(os::unmount_below(folder));
  if (keep == Keep::kNothing) return os::remove_tree(folder);
  for (const std::string& name : os::list_directory(folder)) {
    if (name != "logs" && name != "state.json") AT_OK(os::remove_tree(folder + "/" + name));
  }
  return {};
}

std::string read_in_image(const std::string& rootfs, const std::string& path) {
  const auto root = os::open_directory(rootfs);
  if (!root) return "";
  const auto file = os::open_in_root(root->get(), path, O_RDONLY | O_NONBLOCK);
  struct stat info;
  if (!file || ::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  std::string text;
  char buffer[16384];
  while (text.size() < kImageFileBytesMax) {
    const ssize_t count = ::read(file->get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace agenttier::node
