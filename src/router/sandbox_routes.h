#pragma once
// The sandbox calls of the REST API: what a request asks for, and what a sandbox looks like in a
// reply. Pure but for the handlers, which only join the two through SandboxService.

#include <map>
#include <string>
#include <string_view>

#include "api/rest_sandbox.h"
#include "api/sandbox.h"
#include "base/result.h"
#include "router/call.h"

namespace agenttier::router {

class SandboxService;
struct SandboxQuery;

api::SandboxView view_of(const api::Sandbox& sandbox);

// The filters and the page of a list.
base::Result<SandboxQuery> parse_sandbox_query(const Call& call);

// Labels and annotations that a caller may write: well-formed, and no key of the system's own.
base::Status check_labels(const std::map<std::string, std::string>& labels);
base::Status check_annotations(const std::map<std::string, std::string>& annotations);

// Which fields a patch changes, and when each counts.
api::PatchSandboxReply patch_reply(std::string_view name, const api::PatchSandboxRequest& request);

// The operations on sandboxes and their ports. The service must outlive the handlers.
void add_sandbox_routes(Handlers& handlers, SandboxService& sandboxes);

}  // namespace agenttier::router
