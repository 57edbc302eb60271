#include "router/template_routes.h"

#include <utility>

#include "router/reply.h"
#include "router/template_service.h"

namespace agenttier::router {
namespace {

using Answer = base::Result<http::Response>;

async::Task<Answer> list_templates(TemplateService& templates, Call) {
  api::TemplateList reply;
  for (const auto& each : templates.list()) reply.templates.push_back(view_of(*each));
  co_return reply_json(200, reply.to_json());
}

async::Task<Answer> get_template(TemplateService& templates, Call call) {
  AT_CO_TRY(const auto found, co_await templates.get(call.parameter("name")));
  co_return reply_json(200, view_of(*found).to_json());
}

async::Task<Answer> create_template(TemplateService& templates, Call call) {
  AT_CO_TRY(auto request, co_await read_json<api::CreateTemplateRequest>(call));
  AT_CO_TRY(const auto made, co_await templates.create(request.name, std::move(request.spec)));
  co_return reply_json(201, view_of(*made).to_json());
}

async::Task<Answer> replace_template(TemplateService& templates, Call call) {
  AT_CO_TRY(auto request, co_await read_json<api::ReplaceTemplateRequest>(call));
  AT_CO_TRY(const auto written,
            co_await templates.replace(call.parameter("name"), std::move(request.spec),
                                       std::move(request.resource_version)));
  co_return reply_json(200, view_of(*written).to_json());
}

async::Task<Answer> delete_template(TemplateService& templates, Call call) {
  AT_CO_OK(co_await templates.remove(call.parameter("name")));
  co_return reply_empty(204);
}

}  // namespace

api::TemplateView view_of(const api::ClusterSandboxTemplate& object) {
  api::TemplateView view;
  view.name = object.metadata.name;
  view.description = object.spec.description.value_or("");
  view.image = object.spec.image ? object.spec.image->repository : std::string();
  view.resource_version = object.metadata.resource_version;
  view.spec = object.spec;
  return view;
}

void add_template_routes(Handlers& handlers, TemplateService& templates) {
  using Function = async::Task<Answer> (*)(TemplateService&, Call);
  const auto add = [&](std::string_view operation, Function function) {
    handlers.add(operation, [&templates, function](Call call) {
      return function(templates, std::move(call));
    });
  };
  add("listTemplates", list_templates);
  add("getTemplate", get_template);
  add("createTemplate", create_template);
  add("replaceTemplate", replace_template);
  add("deleteTemplate", delete_template);
}

}  // namespace agenttier::router
