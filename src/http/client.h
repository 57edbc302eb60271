#pragma once
// An HTTP/1.1 client that keeps connections alive, per authority.
//
// Request::authority says where to connect ("10.0.0.2:9000"). A kept-alive connection that turns
// out to be dead before any byte of the response is replaced once by a new one, if that cannot make
// the server act twice: the body is in memory, and the method is idempotent or nothing was sent
// yet. Redirects are not followed. Responses are streamed: destroying a response's body before its
// end closes the connection. A streamed request body may still be sent while the response is read,
// so its reader must own what it uses.

#include <chrono>
#include <cstddef>
#include <cstdint>
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
  std::chrono::milliseconds write_time_max{60000};  // a peer that takes nothing for so long is left
  std::chrono::milliseconds idle_time_max{60000};   // how long an unused connection is kept
  std::size_t idle_per_authority_max = 32;
  std::size_t idle_total_max = 1024;
  std::size_t uploads_max = 4096;  // streamed request bodies at once
  std::uint32_t head_bytes_max = 64 * 1024;
  std::size_t websocket_message_bytes_max = 4 * 1024 * 1024;
  std::chrono::milliseconds websocket_idle_time_max{120000};
  std::string user_agent = "agenttier";
};

class NetworkClient : public Client {
 public:
  static std::unique_ptr<NetworkClient> make(async::Executor executor, ClientOptions options);
  // Opens a WebSocket: kNotFound, kDenied etc. if the server refused the upgrade.
  virtual async::Task<base::Result<std::unique_ptr<WebSocket>>> connect_websocket(
      Request request) = 0;
  // Closes the kept connections to an authority, e.g. because its sandbox ended.
  virtual void forget(const std::string& authority) = 0;
  // Ends the streamed request bodies that are still being sent. Needed before the destruction of a
  // client that may have some.
  virtual async::Task<void> close() = 0;
};

}  // namespace agenttier::http
