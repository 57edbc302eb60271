#pragma once
// An HTTP/1.1 server: listens on an address and gives each request to a Service.
//
// Guarantees: request heads are limited in size and time, idle connections are closed, a handler is
// cancelled when its client goes away, request bodies are streamed (the handler that does not read
// one costs nothing), "Expect: 100-continue" is answered when the body is first read. Malformed
// requests get 400, large heads 431, slow ones 408. close() stops listening, lets running requests
// end within the grace period, then cancels them.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "async/task.h"
#include "base/result.h"
#include "http/service.h"

namespace agenttier::http {

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;              // 0: any free port
  std::size_t connections_max = 4096;  // more are refused by closing them
  // Of these, from the server's own address, which is where local programs come from; 0: no limit
  // of their own.
  std::size_t connections_from_self_max = 0;
  std::uint32_t head_bytes_max = 64 * 1024;
  std::chrono::milliseconds head_time_max{
      5000};  // from connection or end of the last request's first byte
  std::chrono::milliseconds idle_time_max{120000};
  std::chrono::milliseconds body_idle_time_max{120000};  // between two pieces of a request's body
  std::chrono::milliseconds write_time_max{
      60000};  // a peer that takes nothing for so long is dropped
  std::chrono::milliseconds websocket_idle_time_max{
      120000};  // without a sign of life, pings included
  std::size_t websocket_message_bytes_max = 4 * 1024 * 1024;
};

class Server {
 public:
  // Binds at once: kExists if the port is in use, with the address in the message.
  static base::Result<std::unique_ptr<Server>> listen(async::Executor executor, Service& service,
                                                      ServerOptions options);
  virtual ~Server() = default;
  virtual std::uint16_t port() const = 0;
  // Accepts until close().
  virtual async::Task<void> run() = 0;
  virtual async::Task<void> close(std::chrono::milliseconds grace) = 0;
};

}  // namespace agenttier::http
