#pragma once
// A WebSocket connection (RFC 6455), server or client side.
//
// One task reads and one task writes at a time. Pings are answered by the implementation; a peer
// that answers none for `websocket_idle_time_max` (server.h: two minutes) is dropped.

#include <cstdint>
#include <string>

#include "async/task.h"
#include "base/result.h"

namespace agenttier::http {

struct WebSocketMessage {
  enum class Kind : std::uint8_t { kText, kBinary };
  Kind kind = Kind::kBinary;
  std::string data;
};

class WebSocket {
 public:
  virtual ~WebSocket() = default;
  // The next whole message; kCancelled when the peer closed (close_code() tells how), kUnavailable
  // when the connection broke.
  virtual async::Task<base::Result<WebSocketMessage>> read() = 0;
  // Waits until the peer's window took it: this is the backpressure.
  virtual async::Task<base::Status> write(WebSocketMessage message) = 0;
  // Sends a close frame and waits for the peer's, a second at most.
  virtual async::Task<void> close(std::uint16_t code, std::string reason) = 0;
  virtual std::uint16_t close_code() const = 0;
};

}  // namespace agenttier::http
