#include "programs/image_service.h"

#include <boost/json.hpp>
#include <utility>

namespace agenttier::programs {
namespace json = boost::json;
namespace {

constexpr std::string_view kPath = "/api/v1/images";
constexpr std::uint64_t kBodyMax = 64 * 1024;

json::object described(const std::string& name, const std::string& digest) {
  return {{"name", name}, {"digest", digest}};
}

base::Result<std::string> name_of(const std::string& body) {
  boost::system::error_code failed;
  const auto value = json::parse(body, failed);
  if (failed || !value.is_object())
    return base::invalid("the body must be a JSON object with name");
  const auto* name = value.as_object().if_contains("name");
  if (name == nullptr || !name->is_string() || name->as_string().empty()) {
    return base::invalid_field("name",
                               "it must be the image's name, for example registry/name:tag");
  }
  return std::string(name->as_string());
}

}  // namespace

async::Task<http::Response> ImageService::handle(http::Request request) {
  auto target = http::parse_target(request.target);
  if (!target || target->path != kPath) {
    auto passed = co_await next_.handle(std::move(request));
    co_return passed;
  }
  auto caller = co_await authenticator_.authenticate(request.headers);
  if (!caller) co_return http::error_response(caller.error());
  if (!caller->is_admin)
    co_return http::error_response(base::denied("only administrators manage images"));
  auto answered = co_await answer(std::move(request), std::move(*target));
  co_return answered;
}

async::Task<http::Response> ImageService::answer(http::Request request, http::Target target) {
  if (request.method == "GET") {
    json::array list;
    for (const node::ImageRecord& record : images_.list())
      list.push_back(described(record.name, record.digest));
    co_return http::json_response(200, json::serialize(json::object{{"images", std::move(list)}}));
  }
  if (request.method == "POST") {
    auto pulled = co_await pull(std::move(request));
    co_return pulled;
  }
  if (request.method == "DELETE") {
    const auto name = target.find("name");
    if (!name || name->empty())
      co_return http::error_response(base::invalid_field("name", "say which image"));
    auto removed = co_await images_.remove(std::string(*name));
    if (!removed) co_return http::error_response(removed.error());
    http::Response done;
    done.status = 204;
    co_return done;
  }
  auto refused = http::text_response(405, "");
  refused.headers.set("Allow", "GET, POST, DELETE");
  co_return refused;
}

async::Task<http::Response> ImageService::pull(http::Request request) {
  auto body = co_await request.body.read_all(kBodyMax);
  if (!body) co_return http::error_response(body.error());
  auto name = name_of(*body);
  if (!name) co_return http::error_response(name.error());
  node::ImageRequest wanted;
  wanted.name = *name;
  wanted.policy = node::PullPolicy::kAlways;
  auto image = co_await images_.get(std::move(wanted));
  if (!image) co_return http::error_response(image.error());
  co_return http::json_response(201, json::serialize(described(image->name, image->digest)));
}

}  // namespace agenttier::programs
