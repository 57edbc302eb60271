#pragma once
// Calls a Service as a Client, in the same task and without a socket. The Service must outlive it.

#include "http/service.h"

namespace agenttier::http {

class InProcessClient final : public Client {
 public:
  explicit InProcessClient(Service& service) : service_(service) {}
  async::Task<base::Result<Response>> send(Request request) override;

 private:
  Service& service_;
};

}  // namespace agenttier::http
