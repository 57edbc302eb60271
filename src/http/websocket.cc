#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "http/text.h"
#include "http/websocket_stream.h"

namespace agenttier::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace ws = boost::beast::websocket;
using boost::system::error_code;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr auto kCloseTimeMax = std::chrono::seconds(1);
constexpr std::size_t kWriteBufferBytes = 64 * 1024;  // where a client masks what it sends
constexpr std::size_t kCloseReasonBytesMax = 123;     // a control frame holds 125 bytes
constexpr std::size_t kRefusalTextMax = 512;

// No compression: it would keep a window of memory for each connection.
using Stream = ws::stream<asio::ip::tcp::socket, false>;

void set_time_limits(Stream& stream, std::chrono::milliseconds handshake,
                     std::chrono::milliseconds idle) {
  stream.set_option(ws::stream_base::timeout{
      .handshake_timeout = handshake, .idle_timeout = idle, .keep_alive_pings = true});
}

void prepare(Stream& stream, const WebSocketOptions& options) {
  error_code ignored;
  stream.next_layer().set_option(asio::ip::tcp::no_delay(true), ignored);
  stream.auto_fragment(false);
  stream.write_buffer_bytes(kWriteBufferBytes);
  stream.read_message_max(options.message_bytes_max);
  set_time_limits(stream, options.handshake_time_max, options.idle_time_max);
}

class BeastWebSocket final : public WebSocket {
 public:
  BeastWebSocket(std::unique_ptr<Stream> stream, WebSocketOptions options)
      : stream_(std::move(stream)), options_(options) {
    set_time_limits(*stream_, kCloseTimeMax, options_.idle_time_max);
  }

  async::Task<base::Result<WebSocketMessage>> read() override {
    if (co_await async::is_cancelled()) co_return base::cancelled("WebSocket: read");
    WebSocketMessage message;
    auto buffer = asio::dynamic_buffer(message.data);
    const auto [error, size] = co_await stream_->async_read(buffer, kTuple);
    if (error) co_return read_error(error);
    message.data.resize(size);
    message.kind =
        stream_->got_text() ? WebSocketMessage::Kind::kText : WebSocketMessage::Kind::kBinary;
    co_return message;
  }

  async::Task<base::Status> write(WebSocketMessage message) override {
    stream_->text(message.kind == WebSocketMessage::Kind::kText);
    const auto [error, size] = co_await stream_->async_write(asio::buffer(message.data), kTuple);
    if (!error) co_return base::Status();
    if (error == asio::error::operation_aborted) co_return base::cancelled("WebSocket: write");
    co_return base::unavailable("WebSocket: write: " + error.message());
  }

  async::Task<void> close(std::uint16_t code, std::string reason) override {
    reason.resize(std::min(reason.size(), kCloseReasonBytesMax));
    ws::close_reason why(static_cast<ws::close_code>(code));
    why.reason = reason;
    const auto [error] = co_await stream_->async_close(why, kTuple);
    if (error) {
      error_code ignored;
      stream_->next_layer().close(ignored);
    }
    if (close_code_ == 0) close_code_ = stream_->reason().code;
  }

  std::uint16_t close_code() const override { return close_code_; }

 private:
  base::Error read_error(const error_code& error) {
    if (error == ws::error::closed) {
      close_code_ = stream_->reason().code;
      return base::cancelled("WebSocket: the peer closed it");
    }
    if (error == ws::error::message_too_big || error == ws::error::buffer_overflow) {
      close_code_ = ws::close_code::too_big;
      base::Error failure = base::invalid("WebSocket: a message is larger than the limit of " +
                                          std::to_string(options_.message_bytes_max) + " bytes");
      failure.reason = "message_too_large";
      return failure;
    }
    if (error == asio::error::operation_aborted) return base::cancelled("WebSocket: read");
    return base::unavailable("WebSocket: read: " + error.message());
  }

  std::unique_ptr<Stream> stream_;
  WebSocketOptions options_;
  std::uint16_t close_code_ = 0;
};

bool is_handshake_field(std::string_view name) {
  return equal_without_case(name, "Host") || equal_without_case(name, "Upgrade") ||
         equal_without_case(name, "Connection") || equal_without_case(name, "Sec-WebSocket-Key") ||
         equal_without_case(name, "Sec-WebSocket-Version") ||
         equal_without_case(name, "Sec-WebSocket-Accept") ||
         equal_without_case(name, "Sec-WebSocket-Extensions") ||
         equal_without_case(name, "Content-Length") ||
         equal_without_case(name, "Transfer-Encoding");
}

template <class Message>
void add_fields(Message& message, const Headers& headers) {
  for (const auto& [name, value] : headers.fields()) {
    if (is_handshake_field(name) || !is_token(name) || !is_field_value(value)) continue;
    message.set(name, value);
  }
}

beast::http::request<beast::http::empty_body> to_beast(const MessageHead& head) {
  beast::http::request<beast::http::empty_body> request;
  request.method_string(head.method);
  request.target(head.target);
  request.version(head.version);
  for (const auto& [name, value] : head.headers.fields()) request.insert(name, value);
  return request;
}

// The server's words, if it sent our kind of error.
std::string refusal_text(const std::string& body) {
  boost::json::error_code error;
  const auto value = boost::json::parse(body, error);
  const auto* object = error ? nullptr : value.if_object();
  const auto* message = object ? object->if_contains("message") : nullptr;
  if (!message || !message->is_string()) return {};
  return std::string(message->get_string().c_str()).substr(0, kRefusalTextMax);
}

base::Error refusal(const ws::response_type& response) {
  const int status = static_cast<int>(response.result_int());
  base::Error error = base::unavailable("the server did not switch to WebSocket");
  if (status / 100 != 2) error.code = base::code_from_http_status(status);
  error.message = "the server refused with status " + std::to_string(status);
  if (const auto text = refusal_text(response.body()); !text.empty()) error.message += ": " + text;
  return error;
}

}  // namespace

async::Task<base::Result<std::unique_ptr<WebSocket>>> accept_websocket(TcpSocket socket,
                                                                       std::string received,
                                                                       MessageHead request,
                                                                       Headers response_headers,
                                                                       WebSocketOptions options) {
  // RFC 6455 lets a client send frames only after our answer.
  if (!received.empty())
    co_return base::invalid("WebSocket: bytes came before the upgrade's answer");
  auto stream = std::make_unique<Stream>(std::move(socket));
  prepare(*stream, options);
  stream->set_option(ws::stream_base::decorator(
      [headers = std::move(response_headers)](ws::response_type& response) {
        add_fields(response, headers);
      }));
  const auto upgrade = to_beast(request);
  const auto [error] = co_await stream->async_accept(upgrade, kTuple);
  if (error) co_return base::invalid("WebSocket: accept: " + error.message());
  std::unique_ptr<WebSocket> made = std::make_unique<BeastWebSocket>(std::move(stream), options);
  co_return made;
}

async::Task<base::Result<std::unique_ptr<WebSocket>>> open_websocket(TcpSocket socket,
                                                                     Request request,
                                                                     WebSocketOptions options) {
  auto stream = std::make_unique<Stream>(std::move(socket));
  prepare(*stream, options);
  stream->set_option(
      ws::stream_base::decorator([headers = std::move(request.headers)](ws::request_type& upgrade) {
        add_fields(upgrade, headers);
      }));
  ws::response_type response;
  const auto [error] =
      co_await stream->async_handshake(response, request.authority, request.target, kTuple);
  if (error == ws::error::upgrade_declined) co_return refusal(response);
  if (error == beast::error::timeout) {
    co_return base::deadline_exceeded("WebSocket: no answer to the upgrade in time");
  }
  const bool cancelled = co_await async::is_cancelled();
  if (cancelled) co_return base::cancelled("WebSocket: open");
  if (error) co_return base::unavailable("WebSocket: upgrade: " + error.message());
  std::unique_ptr<WebSocket> made = std::make_unique<BeastWebSocket>(std::move(stream), options);
  co_return made;
}

}  // namespace agenttier::http
