#include "controller/runtime_probe.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <utility>

#include "api/names.h"
#include "api/runtime_protocol.h"
#include "async/time_limit.h"
#include "base/time_format.h"

namespace agenttier::controller {
namespace {

constexpr std::uint64_t kReplyBytesMax = 16 * 1024;

http::Request request_to(const std::string& pod_ip, std::string target) {
  const bool is_ipv6 = pod_ip.find(':') != std::string::npos;
  http::Request request;
  request.target = std::move(target);
  request.authority =
      (is_ipv6 ? "[" + pod_ip + "]" : pod_ip) + ":" + std::to_string(api::names::kRuntimePort);
  return request;
}

// The text of a 200; anything else is an error.
async::Task<base::Result<std::string>> send_and_read(http::Client& client, http::Request request) {
  AT_CO_TRY(http::Response response, co_await client.send(std::move(request)));
  if (response.status != 200) {
    co_return base::unavailable("the runtime answered with status " +
                                std::to_string(response.status));
  }
  co_return co_await response.body.read_all(kReplyBytesMax);
}

base::Result<RuntimeActivity> parse_activity(const std::string& text) {
  boost::system::error_code failed;
  const boost::json::value value = boost::json::parse(text, failed);
  if (failed) return base::unavailable("the runtime's answer is no JSON");
  AT_TRY(api::Activity activity, api::Activity::from_json(value, "activity"));
  RuntimeActivity read;
  read.open_processes = std::max<std::int64_t>(activity.open_processes, 0);
  read.cpu = std::chrono::milliseconds(std::max<std::int64_t>(activity.cpu_millis, 0));
  if (auto at = base::parse_rfc3339(activity.last_input_at)) read.last_input = *at;
  return read;
}

}  // namespace

async::Task<base::Result<std::string>> HttpRuntimeProbe::ask(http::Request request) {
  return async::with_time_limit<std::string>(timers_, answer_time_max_,
                                             send_and_read(client_, std::move(request)));
}

async::Task<base::Status> HttpRuntimeProbe::check_health(std::string pod_ip) {
  http::Request request = request_to(pod_ip, "/healthz");
  AT_CO_OK(co_await ask(std::move(request)));
  co_return base::Status();
}

async::Task<base::Result<RuntimeActivity>> HttpRuntimeProbe::read_activity(std::string pod_ip,
                                                                           std::string token) {
  http::Request request = request_to(pod_ip, "/v1/activity");
  request.headers.set("Authorization", "Bearer " + token);
  AT_CO_TRY(std::string text, co_await ask(std::move(request)));
  co_return parse_activity(text);
}

}  // namespace agenttier::controller
