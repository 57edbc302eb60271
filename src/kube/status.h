#pragma once
// A Kubernetes Status object as an Error.
//
// The reason decides; without one the HTTP status does. 410 (Gone, Expired) becomes kNotFound with
// the reason "expired": what was asked for has left the server's history, so list again.

#include <boost/json/object.hpp>
#include <string_view>

#include "base/error.h"
#include "http/message.h"

namespace agenttier::kube {

inline constexpr std::string_view kExpiredReason = "expired";

bool is_expired(const base::Error& error);

base::Error error_from_status(const boost::json::object& status, int http_status);
// A body that is no Status gives an error of the HTTP status with the start of the body.
base::Error error_from_response(int http_status, const http::Headers& headers,
                                std::string_view body);

}  // namespace agenttier::kube
