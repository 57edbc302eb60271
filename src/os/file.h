#pragma once
// Files and directories of the server's own state: whole reads and writes, trees, space.
//
// Guarantees: write_file_atomic leaves the old content or the new one after a crash, never a part;
// remove_tree follows no symbolic link and never leaves the file system it started on, so neither a
// hostile tree nor a forgotten mount below it can lead it astray. All calls block: use a
// BlockingPool.
//
// Example:
//   AT_OK(os::write_file_atomic(state_path, text, 0600));

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace agenttier::os {

// kInvalid beyond bytes_max.
base::Result<std::string> read_file(const std::string& path, std::size_t bytes_max);
// Written to a temporary name beside it, synced, renamed over it, and the directory synced.
base::Status write_file_atomic(const std::string& path, std::string_view data, unsigned mode);
// The same without waiting for the disk: atomic against a crash of this program, not of the
// machine.
base::Status write_file_unsynced(const std::string& path, std::string_view data, unsigned mode);
// Writes into the file itself, which must exist (cgroup and proc files).
base::Status write_existing(const std::string& path, std::string_view data);

bool exists(const std::string& path);
bool is_directory(const std::string& path);
// Names without "." and ".."; sorted; empty if it cannot be read.
std::vector<std::string> list_directory(const std::string& path);

// With parents; an existing directory is fine, and keeps its mode.
base::Status make_directories(const std::string& path, unsigned mode = 0755);
// kConflict if something below is a mount point. Missing is success.
base::Status remove_tree(const std::string& path);
base::Status remove_file(const std::string& path);  // missing is success
base::Status rename_path(const std::string& from, const std::string& to);
base::Status sync_directory(const std::string& path);
base::Status sync_file_system(const std::string& path);
base::Status change_owner(const std::string& path, unsigned uid, unsigned gid);
base::Status change_mode(const std::string& path, unsigned mode);

// Opens a path inside a tree that may be hostile: links resolve as if `root` were "/", and the
// kernel keeps the walk inside.
base::Result<Fd> open_in_root(int root_fd, const std::string& path, int flags);

// Copies files, directories, links, modes, owners, times and extended attributes, sharing blocks
// where the file system can. `to` is new or an empty directory. Devices, sockets and fifos are left
// out.
base::Status copy_tree(const std::string& from, const std::string& to);

struct SpaceUsage {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
  bool operator==(const SpaceUsage&) const = default;
};
// What a tree occupies on its own file system; files with several links count once per link.
base::Result<SpaceUsage> tree_usage(const std::string& path);

struct FileSystemUsage {
  std::uint64_t bytes_total = 0;
  std::uint64_t bytes_free = 0;  // for anyone, without the reserve
  std::uint64_t inodes_total = 0;
  std::uint64_t inodes_free = 0;
};
base::Result<FileSystemUsage> file_system_usage(const std::string& path);

}  // namespace agenttier::os
