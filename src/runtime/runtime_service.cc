#include "runtime/runtime_service.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "api/runtime_protocol.h"
#include "base/time_format.h"
#include "runtime/process_tree.h"

namespace agenttier::runtime {

using async::Task;
using http::Request;
using http::Response;

namespace {

constexpr std::string_view kProcesses = "/v1/processes";
constexpr std::string_view kFiles = "/v1/files";

Response health() {
  api::RuntimeHealth wire;
  wire.status = "ok";
  wire.version = AGENTTIER_VERSION;
  return http::json_response(200, boost::json::serialize(wire.to_json()));
}

bool is_below(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

}  // namespace

RuntimeService::RuntimeService(Parts parts)
    : token_(std::move(parts.token)),
      processes_(parts.processes),
      activity_(parts.clock),
      process_routes_(parts.processes, activity_),
      file_routes_(std::move(parts.roots), parts.blocking, parts.random, activity_) {}

Task<Response> RuntimeService::handle(Request request) {
  if (request.target == "/healthz" && request.method == "GET") co_return health();
  if (!token_.allows(request.headers.find("Authorization").value_or(""))) {
    co_return http::error_response(
        base::unauthenticated("Authorization: no token, or not this sandbox's"));
  }
  auto target = http::parse_target(request.target);
  if (!target) co_return http::error_response(target.error());
  co_return co_await route(std::move(request), *std::move(target));
}

Task<Response> RuntimeService::route(Request request, http::Target target) {
  const std::string path = target.path;
  if (path == "/v1/exec" && request.method == "POST") {
    co_return co_await process_routes_.exec(std::move(request));
  }
  if (is_below(path, kProcesses)) {
    std::string rest = path.substr(kProcesses.size());
    co_return co_await process_routes_.handle(std::move(request), std::move(target),
                                              std::move(rest));
  }
  if (is_below(path, kFiles)) {
    std::string rest = path.substr(kFiles.size());
    co_return co_await file_routes_.handle(std::move(request), std::move(target), std::move(rest));
  }
  if (path == "/v1/archive" && request.method == "GET") {
    co_return co_await file_routes_.archive(std::move(target));
  }
  if (path == "/v1/activity" && request.method == "GET") co_return describe_activity();
  co_return http::error_response(
      base::not_found("no such call: " + request.method + " " + path.substr(0, 200)));
}

Response RuntimeService::describe_activity() const {
  api::Activity wire;
  wire.last_input_at = base::format_rfc3339(activity_.last_input());
  wire.open_processes = static_cast<std::int64_t>(processes_.running());
  wire.cpu_millis = descendants_cpu().count();
  return http::json_response(200, boost::json::serialize(wire.to_json()));
}

}  // namespace agenttier::runtime
