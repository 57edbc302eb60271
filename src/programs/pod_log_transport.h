#pragma once
// The way to the store for the parts that may read pods' logs: GET .../pods/{name}/log is answered
// by the node agent of this process, as an API server asks the kubelet; the rest goes to the store.

#include "async/task.h"
#include "http/service.h"
#include "node/node_agent.h"

namespace agenttier::programs {

class PodLogTransport final : public http::Client {
 public:
  // Both must outlive the transport.
  PodLogTransport(http::Client& store, node::NodeAgent& agent) : store_(store), agent_(agent) {}

  async::Task<base::Result<http::Response>> send(http::Request request) override;

 private:
  base::Result<http::Response> read_log(const http::Target& target, kube::ObjectKey pod);

  http::Client& store_;
  node::NodeAgent& agent_;
};

}  // namespace agenttier::programs
