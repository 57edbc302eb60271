#include "node/node_paths.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "node/digest.h"
#include "os/file.h"

namespace agenttier::node {

namespace {

// An overlay's options must fit a page with three paths in them.
constexpr std::size_t kStateFolderBytesMax = 512;
constexpr std::size_t kUidBytesMax = 64;

}  // namespace

base::Result<NodePaths> NodePaths::make(const std::string& state_folder) {
  if (state_folder.empty() || state_folder[0] != '/') {
    return base::invalid("state folder \"" + state_folder + "\": must be an absolute path");
  }
  NodePaths paths;
  paths.state_ = std::filesystem::path(state_folder).lexically_normal().string();
  while (paths.state_.size() > 1 && paths.state_.back() == '/') paths.state_.pop_back();
  if (paths.state_ == "/" || paths.state_.size() > kStateFolderBytesMax) {
    return base::invalid("state folder \"" + state_folder +
                         "\": must be a folder of its own, at most 512 bytes long");
  }
  paths.instance_ = sha256_hex(paths.state_).substr(0, 8);
  return paths;
}

std::string NodePaths::image_root(const std::string& digest) const {
  std::string name = digest;
  std::replace(name.begin(), name.end(), ':', '-');
  return image_roots() + "/" + name;
}

base::Status NodePaths::make_folders() const {
  AT_OK(os::make_directories(state_, 0700));
  for (const std::string& folder : {runc(), crun(), runsc(), tmp(), local_images(), image_records(),
                                    image_roots(), volumes(), sandboxes()}) {
    AT_OK(os::make_directories(folder, 0700));
  }
  return {};
}

base::Status check_uid(const std::string& uid) {
  const bool plain = std::all_of(uid.begin(), uid.end(),
                                 [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
  if (uid.empty() || uid.size() > kUidBytesMax || !plain) {
    return base::invalid("metadata.uid: must be 1 to 64 letters, digits and '-'");
  }
  return {};
}

}  // namespace agenttier::node
