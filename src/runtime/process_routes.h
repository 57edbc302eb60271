#pragma once
// The calls on processes (docs/runtime-protocol.md): parses a request, asks the table, answers.

#include <string>

#include "async/task.h"
#include "base/clock.h"
#include "http/message.h"
#include "runtime/process_table.h"

namespace agenttier::runtime {

class Activity;

class ProcessRoutes {
 public:
  // Both outlive the routes and every response of theirs.
  ProcessRoutes(ProcessTable& table, Activity& activity) : table_(table), activity_(activity) {}

  async::Task<http::Response> exec(http::Request request);
  // `path` is what follows /v1/processes, with its slash or empty.
  async::Task<http::Response> handle(http::Request request, http::Target target, std::string path);

 private:
  async::Task<http::Response> start(http::Request request);
  http::Response list() const;
  async::Task<http::Response> on_process(http::Request request, http::Target target,
                                         std::shared_ptr<Process> process, std::string action);
  base::Result<http::Response> output(const http::Target& target,
                                      const std::shared_ptr<Process>& process) const;
  async::Task<base::Status> write_stdin(http::Request request, http::Target target,
                                        std::shared_ptr<Process> process);
  async::Task<base::Status> control(http::Request request, std::shared_ptr<Process> process,
                                    std::string action);

  ProcessTable& table_;
  Activity& activity_;
};

}  // namespace agenttier::runtime
