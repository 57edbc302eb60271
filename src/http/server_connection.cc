#include "http/server_connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <charconv>
#include <exception>
#include <utility>

#include "http/outgoing_body.h"
#include "http/text.h"
#include "http/websocket_stream.h"
#include "observe/log.h"

namespace agenttier::http {
namespace {

using namespace std::chrono_literals;

// What a handler left unread is read and forgotten, so that the connection can be kept.
constexpr std::uint64_t kDrainBytesMax = 256 * 1024;
constexpr auto kDrainTimeMax = 5000ms;
// A refused client may still be sending; closing at once would cost it our answer.
constexpr auto kLingerTimeMax = 2000ms;
constexpr auto kWebSocketHandshakeTimeMax = 10000ms;

class RequestBodyReader final : public BodyReader {
 public:
  explicit RequestBodyReader(std::shared_ptr<IncomingBody> body) : body_(std::move(body)) {}
  async::Task<base::Result<std::string>> read() override { return body_->read(); }

 private:
  std::shared_ptr<IncomingBody> body_;
};

bool has_no_body(int status) {
  return status == 204 || status == 304;
}

// HEAD and 304 may announce the length of what they leave out.
std::optional<std::uint64_t> announced_length(const Headers& headers) {
  const auto text = headers.find("Content-Length");
  if (!text) return std::nullopt;
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), length);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return length;
}

HeadFraming frame_response(const std::string& method, int version, const Response& response) {
  const bool omitted = method == "HEAD" || has_no_body(response.status);
  auto length = response.body.length();
  if (omitted && (length == 0U || has_no_body(response.status))) {
    length = announced_length(response.headers);
    if (response.status == 204 || !length) return {.framing = Framing::kNone};
  }
  if (length) return {.framing = Framing::kLength, .content_length = *length};
  if (version == 10) return {.framing = Framing::kToEnd, .persistence = Persistence::kClose};
  return {.framing = Framing::kChunked};
}

int refusal_status(const base::Error& error) {
  return error.reason == "head_too_large" ? 431 : 400;
}

}  // namespace

ServerConnection::ServerConnection(async::Executor executor, TcpSocket socket, Service& service,
                                   const ServerOptions& options)
    : service_(service), options_(options), parser_(options.head_bytes_max) {
  boost::system::error_code error;
  const auto peer = socket.remote_endpoint(error);
  if (!error) peer_address_ = peer.address().to_string();
  link_ =
      std::make_shared<Link>(std::move(executor), std::make_unique<TcpTransport>(std::move(socket)),
                             options_.write_time_max);
}

async::Task<void> ServerConnection::run() {
  link_->on_end([this] {
    if (handling_) scope_.cancel();
  });
  link_->start();
  co_await scope_.run(serve_all());
  link_->on_end(nullptr);
  link_->close();
}

void ServerConnection::finish() {
  finishing_ = true;
  if (idle_) link_->interrupt();
}

void ServerConnection::cancel() {
  finishing_ = true;
  scope_.cancel();
}

async::Task<void> ServerConnection::serve_all() {
  while (!finishing_) {
    auto head = co_await read_head();
    if (!head) co_return;
    const auto persistence = co_await serve(std::move(*head));
    if (persistence == Persistence::kClose) co_return;
  }
}

async::Task<std::optional<MessageHead>> ServerConnection::read_head() {
  parser_.start_request();
  const bool first = std::exchange(first_request_, false);
  bool started = false;
  if (link_->data().empty()) {
    link_->set_read_deadline(first ? options_.head_time_max : options_.idle_time_max);
  }
  while (true) {
    if (const auto data = link_->data(); !data.empty()) {
      const auto used = parser_.parse_head(data);
      if (!used) {
        co_await refuse(used.error(), refusal_status(used.error()));
        co_return std::nullopt;
      }
      link_->consume(*used);
      if (parser_.head_done()) break;
      if (!started && !first) link_->set_read_deadline(options_.head_time_max);
      started = true;
    }
    idle_ = !started;
    const auto status = co_await link_->wait_more();
    idle_ = false;
    if (status) continue;
    if (started && status.error().code == base::ErrorCode::kDeadline) {
      co_await refuse(base::deadline_exceeded("the request's head did not come in time"), 408);
    }
    co_return std::nullopt;
  }
  link_->clear_read_deadline();
  co_return parser_.take_head();
}

Request ServerConnection::make_request(MessageHead head, Exchange& exchange) {
  exchange.method = head.method;
  exchange.version = head.version;
  exchange.persistence = head.persistence;
  Request request;
  if (head.framing != Framing::kNone) {
    auto body = std::make_shared<IncomingBody>(link_, head, options_.body_idle_time_max);
    if (auto complete = body->take_if_complete()) {
      request.body = Body(*std::move(complete));
    } else {
      std::optional<std::uint64_t> length;
      if (head.framing == Framing::kLength) length = head.content_length;
      if (head.expects_continue) body->owe_continue();
      exchange.body = body;
      request.body = Body(std::make_unique<RequestBodyReader>(std::move(body)), length);
    }
  }
  request.method = std::move(head.method);
  request.target = std::move(head.target);
  if (const auto host = head.headers.find("Host")) request.authority = *host;
  request.headers = std::move(head.headers);
  request.peer_address = peer_address_;
  return request;
}

async::Task<Persistence> ServerConnection::serve(MessageHead head) {
  Exchange exchange;
  std::optional<MessageHead> upgrade_head;
  if (head.headers.find("Upgrade")) upgrade_head = head;
  Request request = make_request(std::move(head), exchange);
  if (link_->ended()) co_return Persistence::kClose;
  handling_ = true;
  Response response = co_await handle(std::move(request));
  if (response.upgrade) {
    if (upgrade_head) {
      co_await upgrade(*std::move(upgrade_head), std::move(response));
      co_return Persistence::kClose;
    }
    response = error_response(base::invalid("this address speaks WebSocket: send an upgrade"));
    response.status = 426;
    response.headers.set("Upgrade", "websocket");
  }
  if (exchange.body) exchange.body->deny_continue();
  exchange.persistence = decide_persistence(exchange, response);
  const auto sent = co_await reply(exchange, std::move(response));
  handling_ = false;
  if (!sent) {
    link_->abort();
    co_return Persistence::kClose;
  }
  co_return co_await finish_body(exchange);
}

async::Task<Response> ServerConnection::handle(Request request) {
  std::string what;
  try {
    co_return co_await service_.handle(std::move(request));
  } catch (const std::exception& failure) {
    what = failure.what();
  }
  observe::log_error("a request handler threw", {{"what", what}});
  co_return error_response(base::internal("the server failed to handle the request"));
}

Persistence ServerConnection::decide_persistence(const Exchange& exchange,
                                                 const Response& response) const {
  if (finishing_ || exchange.persistence == Persistence::kClose) return Persistence::kClose;
  const auto connection = response.headers.find("Connection");
  if (connection && has_token(*connection, "close")) return Persistence::kClose;
  const auto& body = exchange.body;
  // A body that is too long to forget, or that the client may never send.
  if (body && !body->done() && (body->continue_denied() || body->left_min() > kDrainBytesMax)) {
    return Persistence::kClose;
  }
  return Persistence::kKeep;
}

async::Task<base::Status> ServerConnection::reply(Exchange& exchange, Response response) {
  if (response.status < 200 || response.status > 999) {
    response = error_response(base::internal("the handler gave an invalid status"));
  }
  HeadFraming framing = frame_response(exchange.method, exchange.version, response);
  if (framing.persistence == Persistence::kClose) exchange.persistence = Persistence::kClose;
  framing.persistence = exchange.persistence;
  std::string head = response_head(response.status, response.headers, framing, exchange.version);
  const bool omitted = exchange.method == "HEAD" || has_no_body(response.status);
  if (omitted || !response.body.is_stream()) {
    const std::string_view bytes = omitted ? std::string_view() : response.body.bytes();
    Buffers buffers{boost::asio::buffer(head), boost::asio::buffer(bytes.data(), bytes.size())};
    co_return co_await link_->write(buffers);
  }
  const StreamFraming stream{framing.framing, framing.content_length};
  auto reader = response.body.into_reader();
  co_return co_await send_stream(link_, std::move(head), std::move(reader), stream);
}

async::Task<Persistence> ServerConnection::finish_body(const Exchange& exchange) {
  const auto body = exchange.body;
  Persistence persistence = exchange.persistence;
  if (persistence == Persistence::kKeep && body && !body->done()) {
    const auto drained = co_await body->drain(kDrainBytesMax, kDrainTimeMax);
    if (!drained) persistence = Persistence::kClose;
  }
  if (body) body->abandon();
  const bool more_comes = (body && !body->done()) || !link_->data().empty();
  if (persistence == Persistence::kClose && more_comes) co_await linger();
  co_return persistence;
}

async::Task<void> ServerConnection::upgrade(MessageHead head, Response response) {
  handling_ = false;
  const auto transport = co_await link_->release();
  if (!transport) co_return;
  auto socket = static_cast<TcpTransport&>(*transport).release();
  const WebSocketOptions options{.message_bytes_max = options_.websocket_message_bytes_max,
                                 .handshake_time_max = kWebSocketHandshakeTimeMax,
                                 .idle_time_max = options_.websocket_idle_time_max};
  std::string received(link_->data());
  auto websocket = co_await accept_websocket(std::move(socket), std::move(received),
                                             std::move(head), std::move(response.headers), options);
  if (!websocket) co_return;
  std::string what;
  try {
    co_await response.upgrade(*std::move(websocket));
    co_return;
  } catch (const std::exception& failure) {
    what = failure.what();
  }
  observe::log_error("a WebSocket handler threw", {{"what", what}});
}

async::Task<void> ServerConnection::refuse(const base::Error& error, int status) {
  Response response = error_response(error);
  response.status = status;
  Exchange exchange;
  exchange.persistence = Persistence::kClose;
  const auto sent = co_await reply(exchange, std::move(response));
  if (sent) co_await linger();
}

async::Task<void> ServerConnection::linger() {
  link_->shutdown_send();
  link_->set_read_deadline(kLingerTimeMax);
  while (true) {
    link_->consume(link_->data().size());
    const auto more = co_await link_->wait_more();
    if (!more) co_return;
  }
}

}  // namespace agenttier::http
