#include "router/call.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <charconv>

#include "base/assert.h"
#include "base/bytes.h"

namespace agenttier::router {

const std::string& Call::parameter(std::string_view name) const {
  static const std::string kNone;
  const auto found = parameters.find(name);
  return found == parameters.end() ? kNone : found->second;
}

std::optional<std::string> Call::query(std::string_view name) const {
  const auto found = target.find(name);
  return found ? std::optional<std::string>(std::string(*found)) : std::nullopt;
}

base::Result<bool> Call::query_flag(std::string_view name) const {
  const auto found = target.find(name);
  if (!found || *found == "false" || *found == "0") return false;
  if (*found == "true" || *found == "1" || found->empty()) return true;
  return base::invalid_field(std::string(name), "must be true or false");
}

base::Result<std::optional<std::int64_t>> Call::query_integer(std::string_view name,
                                                              std::int64_t min,
                                                              std::int64_t max) const {
  const auto found = target.find(name);
  if (!found) return std::optional<std::int64_t>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), number);
  if (error != std::errc() || end != found->data() + found->size() || number < min ||
      number > max) {
    return base::invalid_field(
        std::string(name),
        "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return std::optional<std::int64_t>(number);
}

bool Call::accepts(std::string_view media_type) const {
  const auto accept = request.headers.find("Accept");
  return accept && accept->find(media_type) != std::string_view::npos;
}

async::Task<base::Result<std::string>> read_body(Call& call) {
  AT_CO_TRY(std::string text, co_await call.request.body.read_all(call.body_bytes_max));
  if (!base::is_valid_utf8(text)) {
    co_return base::invalid("the request body is not valid UTF-8");
  }
  co_return std::move(text);
}

base::Result<boost::json::object> parse_object(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return boost::json::object();
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  if (error) return base::invalid("the request body is not valid JSON: " + error.message());
  if (!value.is_object()) return base::invalid("the request body must be a JSON object");
  return std::move(value.get_object());
}

void Handlers::add(std::string_view operation, Handler handler) {
  const bool is_new = by_operation_.emplace(std::string(operation), std::move(handler)).second;
  AT_ASSERT(is_new);
}

const Handler* Handlers::find(std::string_view operation) const {
  const auto found = by_operation_.find(operation);
  return found == by_operation_.end() ? nullptr : &found->second;
}

}  // namespace agenttier::router
