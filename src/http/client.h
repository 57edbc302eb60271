#pragma once
// An HTTP/1.1 client that keeps connections alive, per authority.
//
// Request::authority says where to connect ("10.0.0.2:9000"). A kept-alive connection that turns out
// to be dead before any byte of the response is replaced once by a new one, for requests whose body
// is in memory. Redirects are not followed. Responses are streamed.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "async/task.h"
#include "http/service.h"
#include "http/websocket.h"

namespace agenttier::http {

struct ClientOptions {
  std::chrono::milliseconds connect_time_max{5000};
  // Until the response's head has come; zero: no limit (long polls and execs).
  std::chrono::milliseconds response_time_max{0};
  std::chrono::milliseconds idle_time_max{60000};  // how long an unused connection is kept
  std::size_t idle_per_authority_max = 32;
  std::size_t idle_total_max = 1024;
  std::string user_agent = "agenttier";
};

class NetworkClient : public Client {
 public:
  static std::unique_ptr<NetworkClient> make(async::Executor executor, ClientOptions options);
  // Opens a WebSocket: kNotFound, kDenied etc. if the server refused the upgrade.
  virtual async::Task<base::Result<std::unique_ptr<WebSocket>>> connect_websocket(Request request) = 0;
  // Closes the kept connections to an authority, e.g. because its sandbox ended.
  virtual void forget(const std::string& authority) = 0;
};

}  // namespace agenttier::http
