#pragma once
// AllInOne is `agenttier up`: store, node agent, controller and router in one process and on one
// loop.
//
// start() opens the parts in the order in which they need each other, and returns when the API
// answers; close() ends them in the reverse order. Both leave running sandboxes alone. A part that
// cannot start stops the start with an error that names it.
//
// Example:
//   AllInOne server(loop.get_executor(), {.state_dir = "/var/lib/agenttier"});
//   AT_CO_OK(co_await server.start());
//   ...
//   co_await server.close();

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "async/task.h"
#include "base/result.h"
#include "node/oci_runtimes.h"

namespace agenttier::programs {

struct UpOptions {
  std::string state_dir = "/var/lib/agenttier";
  std::string listen_address = "127.0.0.1";
  std::uint16_t listen_port = 8080;
  std::string images_dir;                           // empty: only what was imported before
  std::string pod_subnet;                           // empty: a free one
  std::set<std::string> insecure_registries;        // "host:port"
  std::optional<node::RuntimeKind> native_runtime;  // none: crun if it is installed, else runc
  std::string runtime_binary;                       // the static runtime that is put into sandboxes
  bool log_in_cli = false;  // write the command line's configuration if it has none
};

class AllInOne {
 public:
  AllInOne(async::Executor executor, UpOptions options);
  ~AllInOne();
  AllInOne(const AllInOne&) = delete;
  AllInOne& operator=(const AllInOne&) = delete;

  async::Task<base::Status> start();
  async::Task<void> close();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace agenttier::programs
