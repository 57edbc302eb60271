#include "kube/wire.h"

#include <boost/json/parse.hpp>
#include <cstddef>
#include <optional>
#include <utility>

#include "kube/status.h"

namespace agenttier::kube {
namespace {

constexpr std::size_t kSegmentBytesMax = 253;
constexpr std::size_t kJsonDepthMax = 128;
constexpr std::size_t kWatchLineBytesMax = 16U * 1024 * 1024;

base::Status check_segment(std::string_view what, std::string_view text) {
  if (text.empty()) return base::invalid_field(std::string(what), "must not be empty");
  const bool dots = text == "." || text == "..";
  if (dots || text.size() > kSegmentBytesMax || text.find('/') != std::string_view::npos) {
    return base::invalid_field(std::string(what),
                               "must be at most 253 characters without '/', and not '.' or '..'");
  }
  return {};
}

std::optional<WatchEvent::Kind> kind_of(std::string_view type) {
  if (type == "ADDED") return WatchEvent::Kind::kAdded;
  if (type == "MODIFIED") return WatchEvent::Kind::kModified;
  if (type == "DELETED") return WatchEvent::Kind::kDeleted;
  if (type == "BOOKMARK") return WatchEvent::Kind::kBookmark;
  return std::nullopt;
}

base::Result<WatchEvent> to_event(std::string_view line) {
  AT_TRY(json::object parsed, parse_object(line));
  json::value* type = parsed.if_contains("type");
  json::value* object = parsed.if_contains("object");
  if (type == nullptr || !type->is_string() || object == nullptr || !object->is_object()) {
    return base::internal("the server sent a watch event without type or object");
  }
  const std::string_view name = type->get_string();
  if (name == "ERROR") return error_from_status(object->get_object(), 500);
  const auto kind = kind_of(name);
  if (!kind) return base::internal("the server sent a watch event of unknown type");
  return WatchEvent{*kind, std::move(object->get_object())};
}

// Splits a byte stream into lines; what was given out is dropped when the buffer is next filled.
class LineWatchStream final : public WatchStream {
 public:
  LineWatchStream(std::unique_ptr<http::BodyReader> body, std::string phrase)
      : body_(std::move(body)), phrase_(std::move(phrase)) {}

  async::Task<base::Result<WatchEvent>> next() override {
    for (;;) {
      while (const auto line = take_line()) {
        if (line->empty()) continue;
        auto event = to_event(*line);
        if (!event) co_return std::move(event).error().context(phrase_);
        co_return event;
      }
      auto status = co_await fill();
      if (!status) co_return std::move(status).error().context(phrase_);
    }
  }

 private:
  // The view is valid until the next fill().
  std::optional<std::string_view> take_line() {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = buffer_.size();
      return std::nullopt;
    }
    std::string_view line = std::string_view(buffer_).substr(start_, end - start_);
    start_ = searched_ = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  async::Task<base::Status> fill() {
    buffer_.erase(0, start_);
    searched_ -= start_;
    start_ = 0;
    if (buffer_.size() > kWatchLineBytesMax) {
      co_return base::internal("the server sent a watch event over the limit of 16 MiB");
    }
    AT_CO_TRY(std::string piece, co_await body_->read());
    if (piece.empty()) co_return base::unavailable("the server ended the watch");
    buffer_ += piece;
    co_return base::Status();
  }

  std::unique_ptr<http::BodyReader> body_;
  std::string phrase_;
  std::string buffer_;
  std::size_t start_ = 0;     // of the line that is not given out yet
  std::size_t searched_ = 0;  // no line end before this
};

}  // namespace

base::Result<std::string> collection_path(const api::ResourceType& type, const std::string& ns) {
  std::string path = type.group.empty() ? "/api/" : "/apis/" + std::string(type.group) + "/";
  path += type.version;
  if (!ns.empty() && type.namespaced) {
    AT_OK(check_segment("namespace", ns));
    path += "/namespaces/" + http::percent_encode(ns);
  }
  return path + "/" + std::string(type.plural);
}

base::Result<std::string> object_path(const api::ResourceType& type, const ObjectKey& key,
                                      Subresource subresource) {
  if (type.namespaced && key.ns.empty()) {
    return base::invalid_field("metadata.namespace", "must name a namespace");
  }
  AT_OK(check_segment("metadata.name", key.name));
  AT_TRY(std::string path, collection_path(type, key.ns));
  path += "/" + http::percent_encode(key.name);
  if (subresource == Subresource::kStatus) path += "/status";
  return path;
}

void Query::add(std::string_view name, std::string_view value) {
  if (value.empty()) return;
  text_ += text_.empty() ? '?' : '&';
  text_ += name;
  text_ += '=';
  text_ += http::percent_encode(value);
}

base::Result<json::object> parse_object(std::string_view text) {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  json::error_code error;
  json::value parsed = json::parse(text, error, {}, options);
  if (error) return base::internal("the server's answer is not JSON: " + error.message());
  if (!parsed.is_object()) return base::internal("the server's answer is not a JSON object");
  return std::move(parsed.get_object());
}

std::string_view metadata_text(const json::object& object, std::string_view name) {
  const json::value* metadata = object.if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) return {};
  const json::value* field = metadata->get_object().if_contains(name);
  if (field == nullptr || !field->is_string()) return {};
  return field->get_string();
}

void stamp_type(const api::ResourceType& type, json::object& object) {
  std::string version(type.version);
  if (!type.group.empty()) version = std::string(type.group) + "/" + version;
  if (!object.contains("apiVersion")) object["apiVersion"] = version;
  if (!object.contains("kind")) object["kind"] = type.kind;
}

std::unique_ptr<WatchStream> make_watch_stream(std::unique_ptr<http::BodyReader> body,
                                               std::string phrase) {
  return std::make_unique<LineWatchStream>(std::move(body), std::move(phrase));
}

}  // namespace agenttier::kube
