#pragma once
// The templates that every installation starts with: `minimal` and `general-coding`.
//
// They are created once, if nobody has one of that name; a template that exists is never written,
// so what an administrator changed stays changed. Deleting one brings it back at the next start.
//
// Example:
//   AT_CO_OK(co_await ensure_default_templates(client, {.minimal_image = "agenttier/minimal:1"}));

#include <string>
#include <vector>

#include "api/template.h"
#include "async/task.h"
#include "base/result.h"
#include "kube/client.h"

namespace agenttier::controller {

struct DefaultTemplateOptions {
  std::string minimal_image;         // empty: no such template
  std::string general_coding_image;  // empty: no such template
};

std::vector<api::ClusterSandboxTemplate> default_templates(const DefaultTemplateOptions& options);

async::Task<base::Status> ensure_default_templates(kube::Client& client,
                                                   DefaultTemplateOptions options);

}  // namespace agenttier::controller
