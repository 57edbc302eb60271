#pragma once
// Reads OCI image layouts: which manifest, which configuration. Pure but for reading the blobs.
//
// The layout's content is hostile: sizes are bounded, digests are checked for form before they
// become paths, and a blob must have the digest it is named by.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace agenttier::node {

// What a container inherits from its image.
struct ImageConfig {
  std::vector<std::string> env;
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;
  std::string user;         // "", "1000", "1000:1000", "node"
  std::string working_dir;  // "" is "/"
  std::string stop_signal;  // "" is SIGTERM
  bool operator==(const ImageConfig&) const = default;
};

base::Result<ImageConfig> parse_image_config(const std::string& json_text);
std::string format_image_config(const ImageConfig& config);

struct LayoutManifest {
  std::string digest;                  // of the manifest
  std::uint64_t compressed_bytes = 0;  // of all layers
  ImageConfig config;
};

// The manifest that `tag` names in the layout's index, which must be for one platform.
base::Result<LayoutManifest> read_layout(const std::string& layout, const std::string& tag);

}  // namespace agenttier::node
