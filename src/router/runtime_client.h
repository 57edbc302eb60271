#pragma once
// RuntimeClient calls the runtime of a sandbox (docs/runtime-protocol.md) and turns its errors into
// ours. The runtime stands beside hostile code, so what it says is bounded and made valid UTF-8,
// and its 401 never reaches a caller as "sign in": it means that this server's token is out of
// date.
//
// Example:
//   AT_CO_TRY(http::Response answer, co_await runtimes.call(endpoint, {.target =
//   "/v1/processes"}));

#include <cstddef>
#include <string>

#include "async/task.h"
#include "base/result.h"
#include "http/message.h"
#include "http/service.h"

namespace agenttier::router {

constexpr std::size_t kRuntimeErrorBytesMax = 16 * 1024;
constexpr std::size_t kRuntimeJsonBytesMax = 64 * 1024 * 1024;  // a folder of 100,000 entries

// Where the runtime of one incarnation of a sandbox listens, and what opens it.
struct RuntimeEndpoint {
  std::string sandbox;    // its name, for messages
  std::string authority;  // "10.0.0.2:9000"
  std::string token;
};

struct RuntimeCall {
  std::string method = "GET";
  std::string target;  // path and query, encoded
  http::Headers headers;
  http::Body body;
};

class RuntimeClient {
 public:
  // `client` must outlive this.
  explicit RuntimeClient(http::Client& client) : client_(client) {}

  // A response below 400, its body unread. kUnavailable when the runtime cannot be reached.
  async::Task<base::Result<http::Response>> call(RuntimeEndpoint endpoint, RuntimeCall call);
  // The same, with the whole body read.
  async::Task<base::Result<std::string>> call_for_text(RuntimeEndpoint endpoint, RuntimeCall call);

 private:
  http::Client& client_;
};

// The error that a response of 400 and above stands for.
base::Error runtime_error(const std::string& sandbox, int status, std::string_view body);

}  // namespace agenttier::router
