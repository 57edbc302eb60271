#pragma once
// The Router answers the REST API.
//
// Every request passes the same steps, which read one row of the route table (api/routes.h): a
// request id, who calls, the gate for keys bound to one sandbox (closed unless the row names an
// action group that the key holds and the path names the key's sandbox), the gate for admins, the
// body limit, the deadline, the handler, one shape of errors, one log line. Which sandboxes a
// caller may know of is decided where they are looked up (sandbox_access.h).
//
// It holds no state of its own: any number of replicas may serve the same API. Reads come from
// informers, which start() begins to run; handle() works from the first moment on, through live
// reads where the informers have not caught up.
//
// Example:
//   Router router(parts, {.sandbox_namespace = "default"});
//   AT_OK(router.start());
//   AT_TRY(auto server, http::Server::listen(executor, router, {.port = 8080}));
//   ...
//   co_await router.close();

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "async/task.h"
#include "async/timers.h"
#include "base/random.h"
#include "base/result.h"
#include "http/service.h"

namespace agenttier::identity {
class ApiKeys;
class Authenticator;
}  // namespace agenttier::identity
namespace agenttier::kube {
class Client;
}

namespace agenttier::router {

enum class AccessLog : std::uint8_t { kOn, kOff };

struct RouterOptions {
  std::string sandbox_namespace = "default";
  std::uint64_t upload_bytes_max = 8ULL << 30;  // of one file
  AccessLog access_log = AccessLog::kOn;
};

class Router final : public http::Service {
 public:
  // All must outlive the router.
  struct Parts {
    async::Executor executor;
    kube::Client& client;
    http::Client& runtimes;  // reaches the sandboxes' runtimes
    identity::Authenticator& authenticator;
    identity::ApiKeys& keys;
    async::Timers& timers;
    base::Random& random;
  };

  Router(Parts parts, RouterOptions options);
  ~Router() override;

  // Begins to follow the API's objects. kCancelled after close().
  base::Status start();
  // Until the informers hold what there is.
  async::Task<base::Status> wait_until_ready();
  async::Task<void> close();

  async::Task<http::Response> handle(http::Request request) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace agenttier::router
