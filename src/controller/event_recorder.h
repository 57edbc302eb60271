#pragma once
// The EventRecorder tells people what happened to an object, as Kubernetes Events.
//
// Telling is best effort and never holds up the work: KubeEventRecorder keeps at most
// `waiting_max` notes, drops the oldest beyond that, and writes them one by one in order. A note
// that cannot be written is tried again a few times and then dropped with a log line.
//
// Example:
//   recorder.record(reference_to(sandbox), {EventType::kNormal, "Running", "The sandbox is
//   running"});

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "api/event.h"
#include "api/sandbox.h"
#include "async/event.h"
#include "async/timers.h"
#include "base/random.h"
#include "controller/sandbox_plan.h"
#include "kube/client.h"

namespace agenttier::controller {

api::ObjectReference reference_to(const api::Sandbox& sandbox);

class EventRecorder {
 public:
  virtual ~EventRecorder() = default;
  virtual void record(const api::ObjectReference& about, const EventNote& note) = 0;
};

class KubeEventRecorder final : public EventRecorder {
 public:
  static constexpr std::size_t kWaitingMax = 4096;
  static constexpr int kAttemptsMax = 4;

  // All outlive the recorder.
  KubeEventRecorder(kube::Client& client, async::Timers& timers, base::Random& random,
                    async::Executor executor);

  void record(const api::ObjectReference& about, const EventNote& note) override;
  // Writes until the task is cancelled.
  async::Task<void> run();
  std::uint64_t dropped() const { return dropped_; }

 private:
  async::Task<void> write(api::Event event);

  kube::Client& client_;
  async::Timers& timers_;
  base::Random& random_;
  async::Event changed_;
  std::deque<api::Event> waiting_;
  std::uint64_t dropped_ = 0;
};

}  // namespace agenttier::controller
