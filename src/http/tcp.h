#pragma once
// The TCP transport: connects, sets the socket's options, gives addresses as text.

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "http/transport.h"

namespace agenttier::http {

using TcpSocket = boost::asio::ip::tcp::socket;

class TcpTransport final : public Transport {
 public:
  // The socket is connected; it is set to send small pieces at once.
  explicit TcpTransport(TcpSocket socket);

  void start_read(char* data, std::size_t size, ReadDone done) override;
  void cancel_read() override;
  std::size_t try_write(const Buffers& buffers, boost::system::error_code& error) override;
  async::Task<base::Result<std::size_t>> write_some(Buffers buffers) override;
  bool is_quiet() override;
  void shutdown_send() override;
  void close() override;
  void abort() override;

  // The socket itself, for a WebSocket; nothing may be under way.
  TcpSocket release() { return std::move(socket_); }

 private:
  TcpSocket socket_;
};

// "host:port", "[v6]:port", or a host alone with the default port.
struct Authority {
  std::string host;
  std::string port;
};
base::Result<Authority> parse_authority(const std::string& text);

// kUnavailable with the authority in the message, kDeadline after the limit, kCancelled.
async::Task<base::Result<TcpSocket>> connect_tcp(std::string authority,
                                                 std::chrono::milliseconds time_max);

}  // namespace agenttier::http
