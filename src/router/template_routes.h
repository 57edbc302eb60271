#pragma once
// The template calls of the REST API.

#include "api/rest_template.h"
#include "api/template.h"
#include "router/call.h"

namespace agenttier::router {

class TemplateService;

api::TemplateView view_of(const api::ClusterSandboxTemplate& object);

// The service must outlive the handlers.
void add_template_routes(Handlers& handlers, TemplateService& templates);

}  // namespace agenttier::router
