#pragma once
// Makes WebSockets from connected sockets, for the server and the client. Boost.Beast stays behind
// this header.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "http/message.h"
#include "http/parser.h"
#include "http/tcp.h"
#include "http/websocket.h"

namespace agenttier::http {

struct WebSocketOptions {
  std::size_t message_bytes_max;
  std::chrono::milliseconds handshake_time_max;
  std::chrono::milliseconds idle_time_max;  // pings are sent, and a silent peer is dropped
};

// Answers the upgrade request. `received` are bytes that came after its head. An invalid upgrade
// request is answered with its error.
async::Task<base::Result<std::unique_ptr<WebSocket>>> accept_websocket(TcpSocket socket,
                                                                       std::string received,
                                                                       MessageHead request,
                                                                       Headers response_headers,
                                                                       WebSocketOptions options);

// Asks for the upgrade. A refusal is an error with the code of its status.
async::Task<base::Result<std::unique_ptr<WebSocket>>> open_websocket(TcpSocket socket,
                                                                     Request request,
                                                                     WebSocketOptions options);

}  // namespace agenttier::http
