#pragma once
// ExecService runs a command in a sandbox and waits for its end.
//
// The command ends when its caller goes away, and at its time limit. A sandbox that cannot be
// reached is an error, never an exit code.
//
// Example:
//   AT_CO_TRY(ExecOutput output, co_await execs.run(caller, "demo", spec));

#include <chrono>
#include <string>

#include "api/runtime_protocol.h"
#include "async/task.h"
#include "async/timers.h"
#include "base/result.h"
#include "router/exec_output.h"
#include "router/sandbox_calls.h"

namespace agenttier::router {

// How long after a command's own time limit its runtime may still be silent.
constexpr std::chrono::seconds kExecGrace{10};

class ExecService {
 public:
  // The references must outlive this.
  ExecService(SandboxCalls& calls, async::Timers& timers) : calls_(calls), timers_(timers) {}

  async::Task<base::Result<ExecOutput>> run(identity::Claims caller, std::string sandbox,
                                            api::ProcessSpec spec);
  // The frames as they come (router/frames.h).
  async::Task<base::Result<http::Body>> stream(identity::Claims caller, std::string sandbox,
                                               api::ProcessSpec spec);

 private:
  async::Task<base::Result<http::Response>> start(identity::Claims caller, std::string sandbox,
                                                  api::ProcessSpec spec);
  async::Task<base::Result<ExecOutput>> run_to_end(identity::Claims caller, std::string sandbox,
                                                   api::ProcessSpec spec);

  SandboxCalls& calls_;
  async::Timers& timers_;
  ByteBudget budget_;
};

}  // namespace agenttier::router
