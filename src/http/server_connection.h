#pragma once
// One connection of a server: reads requests, lets the service answer, sends the responses.
//
// While a handler runs the connection keeps reading ahead, so it notices that the client went away
// and cancels the handler; what a pipelining client sends meanwhile waits in the buffer.

#include <memory>
#include <optional>
#include <string>

#include "async/task.h"
#include "http/cancel_scope.h"
#include "http/head_text.h"
#include "http/incoming_body.h"
#include "http/link.h"
#include "http/parser.h"
#include "http/server.h"
#include "http/tcp.h"

namespace agenttier::http {

class ServerConnection {
 public:
  // `service` and `options` outlive the connection.
  ServerConnection(async::Executor executor, TcpSocket socket, Service& service,
                   const ServerOptions& options);
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;

  // Serves until the connection ends, and closes it.
  async::Task<void> run();
  // Ends after the running request, or at once when there is none.
  void finish();
  // Cancels the running handler and ends.
  void cancel();

 private:
  // What is known of the request that is being answered.
  struct Exchange {
    std::string method;
    int version = 11;
    Persistence persistence = Persistence::kKeep;
    std::shared_ptr<IncomingBody> body;  // null: no body, or all of it is in memory
  };

  async::Task<void> serve_all();
  async::Task<std::optional<MessageHead>> read_head();
  async::Task<Persistence> serve(MessageHead head);
  Request make_request(MessageHead head, Exchange& exchange);
  async::Task<Response> handle(Request request);
  async::Task<base::Status> reply(Exchange& exchange, Response response);
  async::Task<Persistence> finish_body(const Exchange& exchange);
  async::Task<void> upgrade(MessageHead head, Response response);
  async::Task<void> refuse(const base::Error& error, int status);
  async::Task<void> linger();
  Persistence decide_persistence(const Exchange& exchange, const Response& response) const;

  Service& service_;
  const ServerOptions& options_;
  std::string peer_address_;
  std::shared_ptr<Link> link_;
  HeadParser parser_;
  CancelScope scope_;
  bool first_request_ = true;
  bool idle_ = false;      // waits for the first byte of a request
  bool handling_ = false;  // a handler, or the stream of its response, is running
  bool finishing_ = false;
};

}  // namespace agenttier::http
