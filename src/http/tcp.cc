#include "http/tcp.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <tuple>
#include <vector>

namespace agenttier::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

// What a connection attempt uses; shared with its timer, which may fire last.
struct Attempt {
  explicit Attempt(const async::Executor& executor)
      : resolver(executor), socket(executor), timer(executor) {}

  void stop() {
    timed_out = true;
    error_code ignored;
    resolver.cancel();
    socket.close(ignored);
  }

  tcp::resolver resolver;
  TcpSocket socket;
  asio::steady_timer timer;
  bool timed_out = false;
};

async::Task<base::Result<std::vector<tcp::endpoint>>> resolve(std::shared_ptr<Attempt> attempt,
                                                              Authority authority) {
  std::vector<tcp::endpoint> endpoints;
  error_code error;
  const auto address = asio::ip::make_address(authority.host, error);
  if (!error) {
    endpoints.emplace_back(address, static_cast<std::uint16_t>(std::stoi(authority.port)));
    co_return endpoints;
  }
  auto [failure, found] =
      co_await attempt->resolver.async_resolve(authority.host, authority.port, kTuple);
  if (failure) co_return base::unavailable("resolve the name: " + failure.message());
  for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  co_return endpoints;
}

async::Task<base::Status> resolve_and_connect(std::shared_ptr<Attempt> attempt,
                                              Authority authority) {
  AT_CO_TRY(const auto endpoints, co_await resolve(attempt, std::move(authority)));
  error_code failure = asio::error::host_not_found;
  for (const tcp::endpoint& endpoint : endpoints) {
    const bool cancelled = co_await async::is_cancelled();
    if (attempt->timed_out || cancelled) break;
    error_code ignored;
    attempt->socket.close(ignored);
    std::tie(failure) = co_await attempt->socket.async_connect(endpoint, kTuple);
    if (!failure) co_return base::Status();
  }
  co_return base::unavailable(failure.message());
}

}  // namespace

TcpTransport::TcpTransport(TcpSocket socket) : socket_(std::move(socket)) {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
}

void TcpTransport::start_read(char* data, std::size_t size, ReadDone done) {
  socket_.async_read_some(asio::buffer(data, size), std::move(done));
}

void TcpTransport::cancel_read() {
  error_code ignored;
  socket_.cancel(ignored);
}

std::size_t TcpTransport::try_write(const Buffers& buffers, error_code& error) {
  const std::size_t size = socket_.write_some(buffers, error);
  if (error != asio::error::would_block) return size;
  error = {};
  return 0;
}

async::Task<base::Result<std::size_t>> TcpTransport::write_some(Buffers buffers) {
  const auto [error, size] = co_await socket_.async_write_some(buffers, kTuple);
  if (error) co_return base::unavailable("send: " + error.message());
  co_return size;
}

bool TcpTransport::is_quiet() {
  char byte = 0;
  error_code error;
  socket_.receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, error);
  return error == asio::error::would_block;
}

void TcpTransport::shutdown_send() {
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

void TcpTransport::close() {
  error_code ignored;
  socket_.close(ignored);
}

void TcpTransport::abort() {
  error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
}

base::Result<Authority> parse_authority(const std::string& text) {
  Authority authority{text, "80"};
  const auto colon = text.rfind(':');
  const auto bracket = text.rfind(']');
  const bool has_port =
      colon != std::string::npos && (bracket == std::string::npos || bracket < colon);
  if (has_port) {
    authority.host = text.substr(0, colon);
    authority.port = text.substr(colon + 1);
  }
  if (authority.host.size() > 2 && authority.host.front() == '[' && authority.host.back() == ']') {
    authority.host = authority.host.substr(1, authority.host.size() - 2);
  }
  if (authority.host.empty() || !is_port(authority.port)) {
    return base::invalid("authority '" + text + "' must be host:port, for example 127.0.0.1:8080");
  }
  return authority;
}

async::Task<base::Result<TcpSocket>> connect_tcp(std::string authority,
                                                 std::chrono::milliseconds time_max) {
  AT_CO_TRY(Authority parsed, parse_authority(authority));
  const auto attempt = std::make_shared<Attempt>(co_await async::current_executor());
  attempt->timer.expires_after(time_max);
  attempt->timer.async_wait([attempt](const error_code& error) {
    if (!error) attempt->stop();
  });
  auto connected = co_await resolve_and_connect(attempt, std::move(parsed));
  attempt->timer.cancel();
  const std::string step = "connect to " + authority;
  const bool cancelled = co_await async::is_cancelled();
  if (cancelled) co_return base::cancelled(step);
  if (attempt->timed_out) {
    co_return base::deadline_exceeded(step + ": no answer within " +
                                      std::to_string(time_max.count()) + " ms");
  }
  if (!connected) co_return std::move(connected).error().context(step);
  co_return base::Result<TcpSocket>(std::move(attempt->socket));
}

}  // namespace agenttier::http
