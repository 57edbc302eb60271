#pragma once
// The RuntimeService is the runtime's API: it checks the token and hands each call to its routes.
// Without the token only /healthz answers, and nothing of a request but its head is read.

#include "async/task.h"
#include "http/service.h"
#include "runtime/activity.h"
#include "runtime/process_routes.h"
#include "runtime/token.h"

namespace agenttier::runtime {

class RuntimeService final : public http::Service {
 public:
  // The table outlives the service and its responses.
  RuntimeService(TokenHash token, ProcessTable& processes, const base::Clock& clock);

  async::Task<http::Response> handle(http::Request request) override;

 private:
  async::Task<http::Response> route(http::Request request, http::Target target);
  http::Response describe_activity() const;

  TokenHash token_;
  ProcessTable& processes_;
  Activity activity_;
  ProcessRoutes process_routes_;
};

}  // namespace agenttier::runtime
