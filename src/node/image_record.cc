#include "node/image_record.h"

#include <boost/json/serialize.hpp>

#include "node/digest.h"
#include "node/json_fields.h"

namespace agenttier::node {

namespace json = boost::json;

namespace {

constexpr std::string_view kOrigins[] = {"registry", "imported", "local-layout"};

ImageOrigin origin_from(const std::string& text) {
  if (text == kOrigins[1]) return ImageOrigin::kImported;
  if (text == kOrigins[2]) return ImageOrigin::kLocalLayout;
  return ImageOrigin::kRegistry;
}

}  // namespace

base::Result<ImageRecord> parse_image_record(const std::string& json_text) {
  AT_TRY(const json::object object, parse_json_object(json_text, "image record"));
  ImageRecord record;
  record.name = text_field(object, "name");
  record.digest = text_field(object, "digest");
  record.remote_digest = text_field(object, "remoteDigest");
  record.origin = origin_from(text_field(object, "origin"));
  record.layout_stamp = text_field(object, "layoutStamp");
  for (std::string& auth : texts_field(object, "auths")) record.auths.insert(std::move(auth));
  record.compressed_bytes = static_cast<std::uint64_t>(number_field(object, "compressedBytes"));
  record.created = text_field(object, "created");
  record.used = text_field(object, "used");
  if (record.name.empty() || !is_sha256_digest(record.digest)) {
    return base::invalid("image record: has no name or no digest");
  }
  return record;
}

std::string format_image_record(const ImageRecord& record) {
  json::object object;
  object["name"] = record.name;
  object["digest"] = record.digest;
  object["remoteDigest"] = record.remote_digest;
  object["origin"] = kOrigins[static_cast<std::size_t>(record.origin)];
  object["layoutStamp"] = record.layout_stamp;
  object["auths"] = json::array(record.auths.begin(), record.auths.end());
  object["compressedBytes"] = static_cast<std::int64_t>(record.compressed_bytes);
  object["created"] = record.created;
  object["used"] = record.used;
  return json::serialize(object);
}

}  // namespace agenttier::node
