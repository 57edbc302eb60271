#include "http/server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <unordered_set>
#include <utility>

#include "async/event.h"
#include "async/task_group.h"
#include "http/server_connection.h"
#include "observe/log.h"

namespace agenttier::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr auto kAcceptPause = 50ms;   // when the process is out of descriptors
constexpr auto kCancelAgain = 100ms;  // a handler may have been shielded when it was cancelled

base::Error listen_error(const ServerOptions& options, const error_code& error) {
  const std::string where = "listen on " + options.address + ":" + std::to_string(options.port);
  if (error == asio::error::address_in_use) {
    return base::exists(where + ": the address is already in use");
  }
  if (error == asio::error::access_denied) {
    return base::denied(where + ": " + error.message());
  }
  return base::invalid(where + ": " + error.message());
}

enum class Origin { kElsewhere, kSelf };

Origin origin_of(const tcp::socket& socket) {
  error_code error;
  const auto local = socket.local_endpoint(error);
  if (error) return Origin::kElsewhere;
  const auto remote = socket.remote_endpoint(error);
  if (error) return Origin::kElsewhere;
  return local.address() == remote.address() ? Origin::kSelf : Origin::kElsewhere;
}

class TcpServer final : public Server {
 public:
  TcpServer(async::Executor executor, tcp::acceptor acceptor, Service& service,
            ServerOptions options)
      : executor_(executor),
        acceptor_(std::move(acceptor)),
        port_(acceptor_.local_endpoint().port()),
        service_(service),
        options_(std::move(options)),
        ended_(executor),
        group_(executor, {.name = "http connections", .tasks_max = options_.connections_max}) {}

  std::uint16_t port() const override { return port_; }

  async::Task<void> run() override {
    while (!closing_) {
      auto [error, socket] = co_await acceptor_.async_accept(kTuple);
      const bool cancelled = co_await async::is_cancelled();
      if (closing_ || cancelled) break;
      if (!error) {
        serve(std::move(socket));
      } else {
        observe::log_warning("accept failed", {{"error", error.message()}});
        if (co_await ended_.wait_for(kAcceptPause) == async::Wake::kCancelled) break;
      }
    }
    if (!closing_) co_await close(0ms);
  }

  async::Task<void> close(std::chrono::milliseconds grace) override {
    closing_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    for (ServerConnection* connection : connections_) connection->finish();
    const auto end = std::chrono::steady_clock::now() + grace;
    while (!connections_.empty() && std::chrono::steady_clock::now() < end) {
      const auto wake = co_await ended_.wait_for(end - std::chrono::steady_clock::now());
      if (wake == async::Wake::kCancelled) break;
    }
    while (!connections_.empty()) {
      for (ServerConnection* connection : connections_) connection->cancel();
      co_await ended_.wait_shielded_for(kCancelAgain);
    }
    co_await group_.close();
  }

 private:
  void serve(tcp::socket socket) {
    const bool limited = options_.connections_from_self_max > 0;
    const Origin origin = limited ? origin_of(socket) : Origin::kElsewhere;
    if (limited && from_self_ >= options_.connections_from_self_max && origin == Origin::kSelf) {
      return;
    }
    auto connection =
        std::make_unique<ServerConnection>(executor_, std::move(socket), service_, options_);
    if (const auto spawned = group_.spawn(run_connection(std::move(connection), origin));
        !spawned) {
      if (!std::exchange(refusing_, true)) {
        observe::log_warning("connections are refused", {{"why", spawned.error().message}});
      }
    }
  }

  async::Task<void> run_connection(std::unique_ptr<ServerConnection> connection, Origin origin) {
    connections_.insert(connection.get());
    if (origin == Origin::kSelf) ++from_self_;
    try {
      co_await connection->run();
    } catch (const std::exception& failure) {
      observe::log_error("connection ended by an exception", {{"what", failure.what()}});
    }
    connections_.erase(connection.get());
    if (origin == Origin::kSelf) --from_self_;
    refusing_ = false;
    ended_.notify_all();
  }

  async::Executor executor_;
  tcp::acceptor acceptor_;
  const std::uint16_t port_;
  Service& service_;
  const ServerOptions options_;
  bool closing_ = false;
  bool refusing_ = false;  // said so once in the log
  std::unordered_set<ServerConnection*> connections_;
  std::size_t from_self_ = 0;  // how many of them come from our own address
  async::Event ended_;
  async::TaskGroup group_;
};

}  // namespace

base::Result<std::unique_ptr<Server>> Server::listen(async::Executor executor, Service& service,
                                                     ServerOptions options) {
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) return listen_error(options, error);
  const tcp::endpoint endpoint(address, options.port);
  tcp::acceptor acceptor(executor);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return listen_error(options, error);
  std::unique_ptr<Server> server =
      std::make_unique<TcpServer>(executor, std::move(acceptor), service, std::move(options));
  return server;
}

}  // namespace agenttier::http
