#pragma once
// The RuntimeService is the runtime's API: it checks the token and hands each call to its routes.
// Without the token only /healthz answers, and nothing of a request but its head is read.

#include "async/task.h"
#include "http/service.h"
#include "runtime/activity.h"
#include "runtime/file_routes.h"
#include "runtime/process_routes.h"
#include "runtime/token.h"

namespace agenttier::runtime {

class RuntimeService final : public http::Service {
 public:
  struct Parts {
    TokenHash token;
    FileRoots roots;
    // All of it outlives the service and its responses.
    ProcessTable& processes;
    async::BlockingPool& blocking;
    base::Random& random;  // used from any thread
    const base::Clock& clock;
  };
  explicit RuntimeService(Parts parts);

  async::Task<http::Response> handle(http::Request request) override;

 private:
  async::Task<http::Response> route(http::Request request, http::Target target);
  http::Response describe_activity() const;

  TokenHash token_;
  ProcessTable& processes_;
  Activity activity_;
  ProcessRoutes process_routes_;
  FileRoutes file_routes_;
};

}  // namespace agenttier::runtime
