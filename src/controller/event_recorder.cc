#include "controller/event_recorder.h"

#include <utility>

#include "api/names.h"
#include "base/time_format.h"
#include "observe/log.h"

namespace agenttier::controller {
namespace {

namespace names = api::names;

constexpr std::size_t kMessageMax = 1024;
constexpr std::chrono::milliseconds kRetryDelay{200};

}  // namespace

api::ObjectReference reference_to(const api::Sandbox& sandbox) {
  api::ObjectReference reference;
  reference.api_version = names::kApiVersion;
  reference.kind = api::Sandbox::kType.kind;
  reference.ns = sandbox.metadata.ns;
  reference.name = sandbox.metadata.name;
  reference.uid = sandbox.metadata.uid;
  return reference;
}

KubeEventRecorder::KubeEventRecorder(kube::Client& client, async::Timers& timers,
                                     base::Random& random, async::Executor executor)
    : client_(client), timers_(timers), random_(random), changed_(std::move(executor)) {}

void KubeEventRecorder::record(const api::ObjectReference& about, const EventNote& note) {
  const std::string now = base::format_rfc3339(timers_.clock().now());
  api::Event event;
  event.metadata.name = names::bounded_name(about.name, 200) + "." + random_.hex(8);
  event.metadata.ns = about.ns;
  event.involved_object = about;
  event.type = note.type == EventType::kNormal ? names::events::kNormal : names::events::kWarning;
  event.reason = note.reason;
  event.message = note.message.substr(0, kMessageMax);
  event.first_timestamp = now;
  event.last_timestamp = now;
  event.count = 1;
  event.source.emplace().component = names::events::kFromController;
  event.reporting_component = names::events::kFromController;
  if (waiting_.size() >= kWaitingMax) {
    waiting_.pop_front();
    if (dropped_++ == 0) observe::log_warning("events are dropped: too many wait");
  }
  waiting_.push_back(std::move(event));
  changed_.notify_all();
}

async::Task<void> KubeEventRecorder::run() {
  while (!co_await async::is_cancelled()) {
    if (waiting_.empty()) {
      co_await changed_.wait();
      continue;
    }
    api::Event event = std::move(waiting_.front());
    waiting_.pop_front();
    co_await write(std::move(event));
  }
}

async::Task<void> KubeEventRecorder::write(api::Event event) {
  base::Error last;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    auto created = co_await client_.create(api::Event::kType, event.to_json());
    if (created || created.error().code == base::ErrorCode::kExists) co_return;
    last = created.error();
    if (co_await timers_.sleep_for(kRetryDelay) == async::Wake::kCancelled) co_return;
  }
  ++dropped_;
  observe::log_warning(
      "event could not be written",
      {{"sandbox", event.involved_object.name}, {"reason", event.reason}, {"error", last.message}});
}

}  // namespace agenttier::controller
