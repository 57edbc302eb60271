#include "http/client.h"

#include <boost/asio/buffer.hpp>
#include <utility>

#include "async/task_group.h"
#include "http/connection_pool.h"
#include "http/head_text.h"
#include "http/incoming_body.h"
#include "http/tcp.h"
#include "http/text.h"
#include "http/upload.h"
#include "http/websocket_stream.h"

namespace agenttier::http {
namespace {

constexpr int kInterimResponsesMax = 16;

// A connection in use and where it goes when the exchange is over.
struct Lease {
  std::weak_ptr<ConnectionPool> pool;
  std::string authority;
  std::shared_ptr<Link> link;
  std::shared_ptr<Upload> upload;  // null when the request's body was in memory
  Persistence persistence = Persistence::kKeep;

  void give_back() {
    const auto kept = pool.lock();
    const bool sent = !upload || (upload->done() && upload->result());
    if (kept && sent && persistence == Persistence::kKeep) {
      kept->put(authority, std::move(link));
    } else {
      give_up();
    }
  }

  void give_up() {
    if (upload && !upload->done()) upload->cancel();
    link->close();
  }
};

// The response's body on its connection.
class ResponseBodyReader final : public BodyReader {
 public:
  ResponseBodyReader(Lease lease, std::shared_ptr<IncomingBody> body)
      : lease_(std::move(lease)), body_(std::move(body)) {}
  ~ResponseBodyReader() override {
    if (held_) lease_.give_up();
  }

  async::Task<base::Result<std::string>> read() override {
    auto piece = co_await body_->read();
    if (held_ && (!piece || body_->done())) {
      held_ = false;
      if (piece) {
        lease_.give_back();
      } else {
        lease_.give_up();
      }
    }
    co_return piece;
  }

 private:
  Lease lease_;
  std::shared_ptr<IncomingBody> body_;
  bool held_ = true;
};

bool is_idempotent(const std::string& method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" ||
         method == "OPTIONS";
}

HeadFraming frame_request(const Request& request) {
  const auto length = request.body.length();
  if (!length) return {.framing = Framing::kChunked};
  const bool announces = *length > 0 || request.method == "POST" || request.method == "PUT" ||
                         request.method == "PATCH";
  return {.framing = announces ? Framing::kLength : Framing::kNone, .content_length = *length};
}

class PoolingClient final : public NetworkClient {
 public:
  PoolingClient(async::Executor executor, ClientOptions options)
      : executor_(executor),
        options_(std::move(options)),
        pool_(std::make_shared<ConnectionPool>(
            executor,
            ConnectionPool::Limits{options_.idle_time_max, options_.idle_per_authority_max,
                                   options_.idle_total_max})),
        uploads_(executor, {.name = "http uploads", .tasks_max = options_.uploads_max}) {}

  async::Task<base::Result<Response>> send(Request request) override;
  async::Task<base::Result<std::unique_ptr<WebSocket>>> connect_websocket(Request request) override;
  void forget(const std::string& authority) override { pool_->forget(authority); }
  async::Task<void> close() override {
    pool_->clear();
    co_await uploads_.close();
  }

 private:
  async::Task<base::Result<std::shared_ptr<Link>>> connect(std::string authority);
  async::Task<base::Result<Response>> exchange(Lease lease, Request& request, std::string head,
                                               HeadFraming framing);
  async::Task<base::Status> send_request(Lease& lease, Request& request, std::string head,
                                         HeadFraming framing);
  async::Task<base::Result<MessageHead>> receive_head(std::shared_ptr<Link> link,
                                                      BodyPresence body);
  async::Task<base::Status> settle_upload(Lease& lease, int status);
  Response make_response(Lease lease, MessageHead head);

  async::Executor executor_;
  const ClientOptions options_;
  std::shared_ptr<ConnectionPool> pool_;
  async::TaskGroup uploads_;
};

async::Task<base::Result<Response>> PoolingClient::send(Request request) {
  const HeadFraming framing = frame_request(request);
  AT_CO_TRY(const std::string head, request_head(request, framing, options_.user_agent));
  std::string step = request.method + " " + request.authority;
  if (auto kept = pool_->take(request.authority)) {
    Lease lease{pool_, request.authority, kept, nullptr, Persistence::kKeep};
    const bool may_repeat = !request.body.is_stream() && is_idempotent(request.method);
    const std::uint64_t seen = kept->bytes_come();
    auto response = co_await exchange(std::move(lease), request, head, framing);
    if (response) co_return response;
    const bool is_stale =
        kept->bytes_come() == seen && response.error().code == base::ErrorCode::kUnavailable;
    if (!is_stale || !may_repeat) co_return std::move(response).error().context(step);
  }
  AT_CO_TRY(auto link, co_await connect(request.authority));
  Lease lease{pool_, request.authority, std::move(link), nullptr, Persistence::kKeep};
  auto response = co_await exchange(std::move(lease), request, head, framing);
  if (!response) co_return std::move(response).error().context(step);
  co_return response;
}

async::Task<base::Result<std::shared_ptr<Link>>> PoolingClient::connect(std::string authority) {
  AT_CO_TRY(TcpSocket socket,
            co_await connect_tcp(std::move(authority), options_.connect_time_max));
  auto link = std::make_shared<Link>(executor_, std::make_unique<TcpTransport>(std::move(socket)),
                                     options_.write_time_max);
  link->start();
  co_return link;
}

// `request` lives in send(), which awaits this.
async::Task<base::Result<Response>> PoolingClient::exchange(Lease lease, Request& request,
                                                            std::string head, HeadFraming framing) {
  const auto presence = request.method == "HEAD" ? BodyPresence::kOmitted : BodyPresence::kNormal;
  base::Result<MessageHead> received = base::internal("no head");
  auto sent = co_await send_request(lease, request, std::move(head), framing);
  if (!sent) {
    received = std::move(sent).error();
  } else {
    received = co_await receive_head(lease.link, presence);
  }
  if (!received) {
    lease.link->abort();
    if (lease.upload) {
      lease.upload->cancel();
      co_await lease.upload->wait();
    }
    const bool cancelled = co_await async::is_cancelled();
    if (cancelled) co_return base::cancelled("the call was cancelled");
    if (lease.upload && !lease.upload->result() &&
        lease.upload->result().error().code != base::ErrorCode::kCancelled) {
      co_return base::Error(lease.upload->result().error()).context("send the body");
    }
    co_return std::move(received).error();
  }
  AT_CO_OK(co_await settle_upload(lease, received->status));
  co_return make_response(std::move(lease), *std::move(received));
}

async::Task<base::Status> PoolingClient::send_request(Lease& lease, Request& request,
                                                      std::string head, HeadFraming framing) {
  const auto link = lease.link;
  if (!request.body.is_stream()) {
    const std::string& bytes = request.body.bytes();
    Buffers buffers{boost::asio::buffer(head), boost::asio::buffer(bytes)};
    auto sent = co_await link->write(buffers);
    // A server that refuses a long body answers before it has taken all; read that answer.
    if (!sent && link->data().empty()) co_return std::move(sent).error();
    if (!sent) lease.persistence = Persistence::kClose;
    co_return base::Status();
  }
  lease.upload = std::make_shared<Upload>(executor_, link);
  const StreamFraming stream{framing.framing == Framing::kNone ? Framing::kLength : framing.framing,
                             framing.content_length};
  auto reader = request.body.into_reader();
  auto sending = lease.upload->run(std::move(head), std::move(reader), stream);
  auto spawned = uploads_.spawn(std::move(sending));
  if (!spawned) lease.upload.reset();
  co_return spawned;
}

async::Task<base::Result<MessageHead>> PoolingClient::receive_head(std::shared_ptr<Link> link,
                                                                   BodyPresence body) {
  HeadParser parser(options_.head_bytes_max);
  if (options_.response_time_max.count() > 0) link->set_read_deadline(options_.response_time_max);
  for (int interim = 0; interim < kInterimResponsesMax; ++interim) {
    parser.start_response(body);
    while (!parser.head_done()) {
      if (!link->data().empty()) {
        auto used = parser.parse_head(link->data());
        if (!used) co_return base::unavailable("response: " + used.error().message);
        link->consume(*used);
        if (parser.head_done()) break;
      }
      AT_CO_OK(co_await link->wait_more());
    }
    auto head = parser.take_head();
    if (head.status == 101) co_return base::unavailable("response: an upgrade that was not asked");
    if (head.status / 100 == 1) continue;
    link->clear_read_deadline();
    co_return head;
  }
  co_return base::unavailable("response: too many interim answers");
}

// A server that answers before the body is sent either refuses the rest (an error, a redirect) or
// streams in both directions.
async::Task<base::Status> PoolingClient::settle_upload(Lease& lease, int status) {
  if (!lease.upload || lease.upload->done() || status < 300) co_return base::Status();
  lease.persistence = Persistence::kClose;
  lease.upload->cancel();
  co_await lease.upload->wait();
  co_return base::Status();
}

Response PoolingClient::make_response(Lease lease, MessageHead head) {
  if (head.persistence == Persistence::kClose) lease.persistence = Persistence::kClose;
  const auto link = lease.link;
  auto body = std::make_shared<IncomingBody>(link, head, std::chrono::milliseconds(0));
  Response response;
  response.status = head.status;
  response.headers = std::move(head.headers);
  const bool sending = lease.upload && !lease.upload->done();
  if (auto complete = sending ? std::nullopt : body->take_if_complete()) {
    response.body = Body(*std::move(complete));
    lease.give_back();
    return response;
  }
  std::optional<std::uint64_t> length;
  if (head.framing == Framing::kLength) length = head.content_length;
  response.body =
      Body(std::make_unique<ResponseBodyReader>(std::move(lease), std::move(body)), length);
  return response;
}

async::Task<base::Result<std::unique_ptr<WebSocket>>> PoolingClient::connect_websocket(
    Request request) {
  const std::string step = "open a WebSocket to " + request.authority;
  AT_CO_OK(request_head(request, {}, options_.user_agent));
  AT_CO_TRY(TcpSocket socket, co_await connect_tcp(request.authority, options_.connect_time_max));
  const WebSocketOptions options{.message_bytes_max = options_.websocket_message_bytes_max,
                                 .handshake_time_max = options_.connect_time_max,
                                 .idle_time_max = options_.websocket_idle_time_max};
  if (!request.headers.find("User-Agent")) request.headers.set("User-Agent", options_.user_agent);
  auto opened = co_await open_websocket(std::move(socket), std::move(request), options);
  if (!opened) co_return std::move(opened).error().context(step);
  co_return opened;
}

}  // namespace

std::unique_ptr<NetworkClient> NetworkClient::make(async::Executor executor,
                                                   ClientOptions options) {
  return std::make_unique<PoolingClient>(std::move(executor), std::move(options));
}

}  // namespace agenttier::http
