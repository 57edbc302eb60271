#pragma once
// Processes of a sandbox: exec, which waits for the end, and processes that live on without a
// caller, whose output can be read again at any offset. All are calls of the runtime protocol.

#include <cstdint>

#include "api/rest_exec.h"
#include "api/runtime_protocol.h"
#include "base/result.h"
#include "router/call.h"

namespace agenttier::router {

class ExecService;
class SandboxCalls;

constexpr std::int64_t kExecTimeoutSeconds = 30;  // of an exec that names none

// kInvalid unless exactly one of command and argv is given.
base::Result<api::ProcessSpec> process_of(api::ExecRequest request);

// The operations of /exec and /processes. The services must outlive the handlers.
void add_process_routes(Handlers& handlers, SandboxCalls& calls, ExecService& execs);

}  // namespace agenttier::router
