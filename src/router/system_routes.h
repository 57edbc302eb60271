#pragma once
// The routes without a caller: health, readiness, metrics, and the description of the API.

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "router/call.h"

namespace agenttier::router {

struct SystemParts {
  std::function<base::Status()> ready;   // an error says what is missing
  std::function<std::string()> metrics;  // text for Prometheus
  std::string_view openapi;              // JSON; must outlive the handlers
};

void add_system_routes(Handlers& handlers, SystemParts parts);

}  // namespace agenttier::router
