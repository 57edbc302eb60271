#include "router/sandbox_calls.h"

#include <utility>

namespace agenttier::router {

async::Task<base::Result<http::Response>> SandboxCalls::call(identity::Claims caller,
                                                             std::string sandbox,
                                                             RuntimeCall call) {
  AT_CO_TRY(SandboxPointer found, co_await access_.find(std::move(caller), std::move(sandbox)));
  AT_CO_TRY(RuntimeEndpoint endpoint, co_await runtimes_.endpoint_of(std::move(found)));
  co_return co_await client_.call(std::move(endpoint), std::move(call));
}

}  // namespace agenttier::router
