#pragma once
// Project quotas bound how much a directory tree may hold, where its file system can (xfs or ext4
// mounted with prjquota): the kernel refuses writes beyond it, with "no space left on device". The
// number of files is bounded with the bytes, one for every 4 KiB.
//
// The project id is derived from the tree's inode, which is unique on its file system while the
// tree exists, so nothing needs to be remembered.
//
// Example:
//   if (os::set_tree_quota(path, bytes)) condition = "enforced";   // else kUnimplemented: say so

#include <cstdint>
#include <string>

#include "base/result.h"

namespace agenttier::os {

// The tree must be new and empty, or already have a quota (which is changed). kUnimplemented with
// the reason and remedy where the file system cannot.
base::Status set_tree_quota(const std::string& path, std::uint64_t bytes_max);
base::Result<std::uint64_t> tree_quota_usage(const std::string& path);
// Before the tree is removed, so that the id can be reused.
base::Status clear_tree_quota(const std::string& path);

}  // namespace agenttier::os
