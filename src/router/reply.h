#pragma once
// Replies turn results into HTTP responses: JSON bodies, and the one shape of an error.
//
// An error is {"error", "code", "message", "causes"?, "requestId"}. Clients show the string `error`
// to people, so it is the message; only the few words that clients compare (kept_error_words) stand
// there as they are. `code` is the stable word for programs: the error's reason, or else the name
// of its code.

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "http/message.h"

namespace agenttier::router {

http::Response reply_json(int status, const boost::json::object& body);
http::Response reply_text(int status, std::string text);
http::Response reply_empty(int status);
http::Response reply_error(const base::Error& error, std::string_view request_id = {});

// The HTTP status of an error: that of its code, but 413 for "body_too_large", 416 for
// "range_not_satisfiable" and 507 for "no_space".
int status_of(const base::Error& error);

}  // namespace agenttier::router
