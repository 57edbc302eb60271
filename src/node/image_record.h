#pragma once
// What an image's name stands for on this node: one small file per name.

#include <set>
#include <string>

#include "base/result.h"

namespace agenttier::node {

enum class ImageOrigin : std::uint8_t { kRegistry, kImported, kLocalLayout };

struct ImageRecord {
  std::string name;           // whole reference
  std::string digest;         // of the manifest here, the key of its files
  std::string remote_digest;  // as the registry names it; empty if not from one
  ImageOrigin origin = ImageOrigin::kRegistry;
  std::string layout_stamp;     // of a local layout: changes when the layout does
  std::set<std::string> auths;  // hashes of the credentials the registry accepted; "" is anonymous
  std::uint64_t compressed_bytes = 0;
  std::string created;  // RFC 3339: when it came here
  std::string used;  // RFC 3339: when it was last asked for; kept in memory, written now and then
  bool operator==(const ImageRecord&) const = default;
};

base::Result<ImageRecord> parse_image_record(const std::string& json_text);
std::string format_image_record(const ImageRecord& record);

}  // namespace agenttier::node
