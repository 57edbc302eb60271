#include "node/oci_image.h"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "node/digest.h"
#include "node/json_fields.h"
#include "os/file.h"

namespace agenttier::node {

namespace json = boost::json;
using base::Result;

namespace {

constexpr std::size_t kBlobBytesMax = 4UL << 20U;  // of a manifest or a configuration
constexpr const char* kTagAnnotation = "org.opencontainers.image.ref.name";

Result<std::string> read_blob(const std::string& layout, const std::string& digest) {
  if (!is_sha256_digest(digest)) return base::invalid("image layout: unsupported digest " + digest);
  AT_TRY(std::string text,
         os::read_file(layout + "/blobs/sha256/" + digest.substr(7), kBlobBytesMax));
  if ("sha256:" + sha256_hex(text) != digest) {
    return base::invalid("image layout: blob " + digest + " has another content");
  }
  return text;
}

Result<std::string> find_manifest(const json::object& index, const std::string& tag) {
  const json::value* manifests = index.if_contains("manifests");
  if (manifests != nullptr && manifests->is_array()) {
    for (const json::value& item : manifests->as_array()) {
      const json::object* entry = item.if_object();
      const json::object* annotations =
          entry != nullptr ? object_field(*entry, "annotations") : nullptr;
      if (annotations != nullptr && text_field(*annotations, kTagAnnotation) == tag) {
        return text_field(*entry, "digest");
      }
    }
  }
  return base::not_found("image layout: has no manifest tagged \"" + tag + "\"");
}

}  // namespace

Result<ImageConfig> parse_image_config(const std::string& json_text) {
  AT_TRY(const json::object image, parse_json_object(json_text, "image configuration"));
  ImageConfig result;
  const json::object* config = object_field(image, "config");
  if (config == nullptr) return result;
  result.env = texts_field(*config, "Env");
  result.entrypoint = texts_field(*config, "Entrypoint");
  result.cmd = texts_field(*config, "Cmd");
  result.user = text_field(*config, "User");
  result.working_dir = text_field(*config, "WorkingDir");
  result.stop_signal = text_field(*config, "StopSignal");
  return result;
}

std::string format_image_config(const ImageConfig& config) {
  json::object inner;
  inner["Env"] = to_json_array(config.env);
  inner["Entrypoint"] = to_json_array(config.entrypoint);
  inner["Cmd"] = to_json_array(config.cmd);
  inner["User"] = config.user;
  inner["WorkingDir"] = config.working_dir;
  inner["StopSignal"] = config.stop_signal;
  json::object image;
  image["config"] = std::move(inner);
  return json::serialize(image);
}

Result<LayoutManifest> read_layout(const std::string& layout, const std::string& tag) {
  AT_TRY(const std::string index_text, os::read_file(layout + "/index.json", kBlobBytesMax));
  AT_TRY(const json::object index, parse_json_object(index_text, "image layout: index.json"));
  LayoutManifest result;
  AT_TRY(result.digest, find_manifest(index, tag));
  AT_TRY(const std::string manifest_text, read_blob(layout, result.digest));
  AT_TRY(const json::object manifest, parse_json_object(manifest_text, "image manifest"));
  const json::object* config = object_field(manifest, "config");
  if (config == nullptr) return base::invalid("image manifest: names no configuration");
  AT_TRY(const std::string config_text, read_blob(layout, text_field(*config, "digest")));
  AT_TRY(result.config, parse_image_config(config_text));
  const json::value* layers = manifest.if_contains("layers");
  if (layers == nullptr || !layers->is_array())
    return base::invalid("image manifest: has no layers");
  for (const json::value& item : layers->as_array()) {
    const json::object* layer = item.if_object();
    const json::value* size = layer != nullptr ? layer->if_contains("size") : nullptr;
    if (size == nullptr || !size->is_int64() || size->as_int64() < 0) {
      return base::invalid("image manifest: a layer has no size");
    }
    result.compressed_bytes += static_cast<std::uint64_t>(size->as_int64());
  }
  return result;
}

}  // namespace agenttier::node
