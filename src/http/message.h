#pragma once
// HTTP requests and responses as plain values, and bodies as streams of bytes.
//
// A body is either bytes in memory or a BodyReader that gives pieces as they come, so that a file
// of any size passes in constant memory. Nothing here includes Boost.Beast.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "async/task.h"
#include "base/result.h"

namespace agenttier::http {

// Header fields in order; names compare without case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

  std::optional<std::string_view> find(std::string_view name) const;  // the first of that name
  void set(std::string_view name, std::string value);                 // replaces all of that name
  void add(std::string_view name, std::string value);
  void remove(std::string_view name);
  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// A stream of bytes with an end. Destroying it before the end abandons the rest (and, on a network
// connection, closes it).
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  // The next piece, at most 64 KiB or so; empty at the end; an error if the stream broke.
  virtual async::Task<base::Result<std::string>> read() = 0;
};

class Body {
 public:
  Body() = default;
  Body(std::string bytes) : content_(std::move(bytes)) {}  // NOLINT: implicit
  Body(const char* text) : content_(std::string(text)) {}  // NOLINT: implicit
  // `length` is the exact number of bytes, if known; without it the message is chunked.
  Body(std::unique_ptr<BodyReader> reader, std::optional<std::uint64_t> length = std::nullopt)
      : content_(std::move(reader)), length_(length) {}

  bool is_stream() const { return std::holds_alternative<std::unique_ptr<BodyReader>>(content_); }
  std::optional<std::uint64_t> length() const;
  // The bytes of an in-memory body; a stream's are not here yet.
  const std::string& bytes() const;
  // Reads the whole body; kInvalid (reason "body_too_large") beyond bytes_max.
  async::Task<base::Result<std::string>> read_all(std::uint64_t bytes_max);
  // The body as a reader, whatever it is; the Body is empty afterwards.
  std::unique_ptr<BodyReader> into_reader();

 private:
  std::variant<std::string, std::unique_ptr<BodyReader>> content_;
  std::optional<std::uint64_t> length_;
};

struct Request {
  std::string method = "GET";
  std::string target = "/";  // path and query, percent-encoded, as on the wire
  std::string authority;     // client: "host:port" to connect to; server: the Host header
  Headers headers;
  Body body;
  std::string peer_address;  // server: address of the TCP peer, without its port
};

class WebSocket;

struct Response {
  int status = 200;
  Headers headers;
  Body body;
  // Server: if set, the connection is upgraded to a WebSocket (status and body are ignored) and the
  // handler runs until the socket ends. Client: never set.
  std::function<async::Task<void>(std::unique_ptr<WebSocket>)> upgrade;
};

// Percent-decoding; kInvalid on a broken escape or a NUL byte.
base::Result<std::string> percent_decode(std::string_view text);
std::string percent_encode(std::string_view text);       // everything but unreserved characters
std::string percent_encode_path(std::string_view path);  // keeps '/'

// A request target taken apart. `path` is still encoded; `query` pairs are decoded.
struct Target {
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
  std::optional<std::string_view> find(std::string_view name) const;
};
base::Result<Target> parse_target(std::string_view target);

}  // namespace agenttier::http
