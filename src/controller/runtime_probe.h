#pragma once
// The RuntimeProbe asks a sandbox's runtime two questions: does it answer, and is work going on.
//
// HttpRuntimeProbe speaks the runtime protocol to the pod's address. What comes back is untrusted:
// replies are bounded, and a number is all that is taken from them.

#include <chrono>
#include <cstdint>
#include <string>

#include "async/task.h"
#include "async/timers.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/service.h"

namespace agenttier::controller {

struct RuntimeActivity {
  base::WallTime last_input;  // epoch if there was none
  std::int64_t open_processes = 0;
  std::chrono::milliseconds cpu{0};
};

class RuntimeProbe {
 public:
  virtual ~RuntimeProbe() = default;
  // Success once the runtime takes calls; kUnavailable until then.
  virtual async::Task<base::Status> check_health(std::string pod_ip) = 0;
  virtual async::Task<base::Result<RuntimeActivity>> read_activity(std::string pod_ip,
                                                                   std::string token) = 0;
};

class HttpRuntimeProbe final : public RuntimeProbe {
 public:
  // Both outlive the probe. `answer_time_max` bounds each question.
  HttpRuntimeProbe(http::Client& client, async::Timers& timers,
                   std::chrono::milliseconds answer_time_max = std::chrono::seconds(2))
      : client_(client), timers_(timers), answer_time_max_(answer_time_max) {}

  async::Task<base::Status> check_health(std::string pod_ip) override;
  async::Task<base::Result<RuntimeActivity>> read_activity(std::string pod_ip,
                                                           std::string token) override;

 private:
  async::Task<base::Result<std::string>> ask(http::Request request);

  http::Client& client_;
  async::Timers& timers_;
  std::chrono::milliseconds answer_time_max_;
};

}  // namespace agenttier::controller
