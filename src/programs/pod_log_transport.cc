#include "programs/pod_log_transport.h"

#include <charconv>
#include <optional>
#include <utility>

namespace agenttier::programs {
namespace {

// The pod of "/api/v1/namespaces/{ns}/pods/{name}/log".
std::optional<kube::ObjectKey> pod_of(std::string_view path) {
  constexpr std::string_view kBefore = "/api/v1/namespaces/", kBetween = "/pods/", kAfter = "/log";
  if (!path.starts_with(kBefore) || !path.ends_with(kAfter)) return std::nullopt;
  path.remove_prefix(kBefore.size());
  path.remove_suffix(kAfter.size());
  const auto between = path.find(kBetween);
  if (between == std::string_view::npos) return std::nullopt;
  const std::string_view name = path.substr(between + kBetween.size());
  if (name.find('/') != std::string_view::npos) return std::nullopt;
  return kube::ObjectKey{std::string(path.substr(0, between)), std::string(name)};
}

}  // namespace

async::Task<base::Result<http::Response>> PodLogTransport::send(http::Request request) {
  auto target = http::parse_target(request.target);
  if (target && request.method == "GET") {
    if (auto pod = pod_of(target->path)) co_return read_log(*target, *std::move(pod));
  }
  auto answer = co_await store_.send(std::move(request));
  co_return answer;
}

base::Result<http::Response> PodLogTransport::read_log(const http::Target& target,
                                                       kube::ObjectKey pod) {
  node::LogQuery query;
  if (const auto lines = target.find("tailLines")) {
    std::uint64_t number = 0;
    const auto read = std::from_chars(lines->data(), lines->data() + lines->size(), number);
    if (read.ec != std::errc())
      return http::error_response(base::invalid_field("tailLines", "it must be a number"));
    query.tail_lines = number;
  }
  if (target.find("follow").value_or("") == "true") query.follow = node::LogFollow::kFollow;
  auto log = agent_.read_log(pod, std::string(target.find("container").value_or("")), query);
  if (!log) return http::error_response(log.error());
  http::Response response;
  response.headers.set("Content-Type", "text/plain");
  response.body = http::Body(std::move(*log));
  return response;
}

}  // namespace agenttier::programs
