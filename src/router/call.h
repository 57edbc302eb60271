#pragma once
// A Call is one authenticated request on its way to a handler; Handlers maps operations to
// handlers.
//
// A handler is a coroutine that owns its Call and gives a response or an error; the router turns
// the error into the one error shape. Handlers are registered once, by the name of the operation in
// the route table (api/routes.h).
//
// Example:
//   handlers.add("getSandbox", [&sandboxes](Call call) {
//     return get_sandbox(sandboxes, std::move(call));   // a coroutine; the lambda is not one
//   });

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/decode.h"
#include "async/task.h"
#include "base/result.h"
#include "http/message.h"
#include "http/routes.h"
#include "identity/claims.h"

namespace agenttier::router {

struct Call {
  http::Request request;  // its body is unread
  http::Target target;
  http::RouteVariables parameters;  // of the path, decoded
  identity::Claims caller;
  std::uint64_t body_bytes_max = 0;

  const std::string& parameter(std::string_view name) const;  // empty if there is none
  std::optional<std::string> query(std::string_view name) const;
  // "true" and "1" are true, "false" and "0" are false; kInvalid that names the parameter
  // otherwise.
  base::Result<bool> query_flag(std::string_view name) const;
  // Absent, or a whole number within the range.
  base::Result<std::optional<std::int64_t>> query_integer(std::string_view name, std::int64_t min,
                                                          std::int64_t max) const;
  bool accepts(std::string_view media_type) const;
};

// The body as text, up to the limit of the call's route. The call must outlive the task.
async::Task<base::Result<std::string>> read_body(Call& call);

// A JSON object; an empty text is one without members.
base::Result<boost::json::object> parse_object(std::string_view text);

// The body as a request type of the API, read strictly: each error names the field. The call must
// outlive the task.
template <class T>
async::Task<base::Result<T>> read_json(Call& call) {
  AT_CO_TRY(const std::string text, co_await read_body(call));
  AT_CO_TRY(const boost::json::object object, parse_object(text));
  co_return T::from_json(object, "", api::Decode::kStrict);
}

using Handler = std::function<async::Task<base::Result<http::Response>>(Call call)>;

class Handlers {
 public:
  void add(std::string_view operation, Handler handler);
  const Handler* find(std::string_view operation) const;
  std::size_t size() const { return by_operation_.size(); }

 private:
  std::map<std::string, Handler, std::less<>> by_operation_;
};

}  // namespace agenttier::router
