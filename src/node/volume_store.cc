#include "node/volume_store.h"

#include <sys/stat.h>

#include "observe/log.h"
#include "os/file.h"
#include "os/quota.h"

namespace agenttier::node {

using base::Result;
using base::Status;

namespace {

constexpr unsigned kVolumeMode = 02775;  // new files keep the group
constexpr const char* kStagedPrefix = "volume-";

std::string staged_path(const NodePaths& paths, const std::string& uid) {
  return paths.tmp() + "/" + kStagedPrefix + uid;
}

std::chrono::system_clock::time_point changed_at(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return {};
  return std::chrono::system_clock::from_time_t(info.st_ctim.tv_sec);
}

}  // namespace

Result<std::string> VolumeStore::find(const std::string& uid) const {
  AT_OK(check_uid(uid));
  std::string path = paths_.volume_data(uid);
  if (!os::is_directory(path)) return base::not_found("volume " + uid + " is not on this machine");
  return path;
}

Status VolumeStore::make(const VolumeRequest& request, const std::string& staged) const {
  AT_OK(os::remove_tree(staged));
  AT_OK(os::make_directories(staged, 0700));
  const std::string data = staged + "/data";
  AT_OK(os::make_directories(data, kVolumeMode));
  AT_OK(os::change_owner(data, kVolumeOwner, kVolumeOwner));
  // Before the first file, so that every file counts.
  (void)limit_size(request, data);
  if (request.clone_of.empty()) return {};
  AT_TRY(const std::string source, find(request.clone_of));
  AT_OK(os::copy_tree(source, data));
  return os::sync_file_system(staged);
}

VolumeInfo VolumeStore::limit_size(const VolumeRequest& request, const std::string& path) {
  VolumeInfo info{.path = path};
  if (request.bytes == 0) return info;
  const Status limited = os::set_tree_quota(path, request.bytes);
  info.size_enforced = limited.has_value();
  if (!limited) info.limit = limited.error().message;
  return info;
}

Result<VolumeInfo> VolumeStore::ensure(const VolumeRequest& request) const {
  AT_OK(check_uid(request.uid));
  const std::string folder = paths_.volume(request.uid);
  const std::string data = paths_.volume_data(request.uid);
  if (!os::is_directory(data)) {
    const std::string staged = staged_path(paths_, request.uid);
    AT_OK(make(request, staged));
    AT_OK(os::rename_path(staged, folder));
    AT_OK(os::sync_directory(paths_.volumes()));
  }
  return limit_size(request, data);
}

Status VolumeStore::remove(const std::string& uid) const {
  AT_OK(check_uid(uid));
  const std::string folder = paths_.volume(uid);
  if (!os::exists(folder)) return {};
  (void)os::clear_tree_quota(paths_.volume_data(uid));
  // Out of sight in one step: a half-removed volume must never be mounted.
  const std::string doomed = paths_.tmp() + "/removing-" + uid;
  AT_OK(os::remove_tree(doomed));
  AT_OK(os::rename_path(folder, doomed));
  return os::remove_tree(doomed);
}

Result<std::uint64_t> VolumeStore::bytes_used(const std::string& uid) const {
  AT_TRY(const std::string path, find(uid));
  if (const auto usage = os::tree_quota_usage(path)) return *usage;
  AT_TRY(const os::SpaceUsage usage, os::tree_usage(path));
  return usage.bytes;
}

Status VolumeStore::recover(const std::set<std::string>& known_uids) const {
  AT_OK(os::make_directories(orphans(), 0700));
  for (const std::string& uid : os::list_directory(paths_.volumes())) {
    if (known_uids.contains(uid)) continue;
    AT_OK(os::rename_path(paths_.volume(uid), orphans() + "/" + uid));
    observe::log_warning("volume without a claim set aside",
                         {{"volume", uid}, {"folder", orphans()}});
  }
  for (const std::string& uid : os::list_directory(orphans())) {
    const std::string path = orphans() + "/" + uid;
    if (known_uids.contains(uid) && !os::exists(paths_.volume(uid))) {
      AT_OK(os::rename_path(path, paths_.volume(uid)));
    } else if (clock_.now() - changed_at(path) > kOrphanKeptFor) {
      (void)os::clear_tree_quota(path + "/data");
      AT_OK(os::remove_tree(path));
    }
  }
  return {};
}

}  // namespace agenttier::node
