#include "kube/event_recorder.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <utility>

#include "api/names.h"
#include "base/bytes.h"
#include "base/time_format.h"
#include "kube/backoff.h"
#include "kube/typed.h"
#include "observe/log.h"

namespace agenttier::kube {
namespace {

constexpr std::size_t kMessageBytesMax = 1024;  // what the API accepts
constexpr std::size_t kNameBytesMax = 253;
constexpr int kAttemptsMax = 4;
constexpr BackoffLimits kBackoff{std::chrono::milliseconds(200), std::chrono::seconds(5)};

std::string shortened(std::string message) {
  constexpr std::string_view kEllipsis = "...";
  message = base::to_valid_utf8(message);
  if (message.size() <= kMessageBytesMax) return message;
  std::size_t end = kMessageBytesMax - kEllipsis.size();
  const auto is_continuation = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
  };
  while (end > 0 && is_continuation(message[end])) --end;
  return message.substr(0, end).append(kEllipsis);
}

// Events with the same identity are one event that happened several times.
std::string identity_of(const api::Event& event) {
  std::string identity = event.involved_object.uid;
  for (const std::string* part : {&event.involved_object.ns, &event.involved_object.name,
                                  &event.type, &event.reason, &event.message}) {
    identity += '\0';
    identity += *part;
  }
  return identity;
}

// An error that will not go away by trying again.
bool is_final(const base::Error& error) {
  using base::ErrorCode;
  switch (error.code) {
    case ErrorCode::kInvalid:
    case ErrorCode::kDenied:
    case ErrorCode::kNotFound:
    case ErrorCode::kUnimplemented:
    case ErrorCode::kCancelled:
      return true;
    default:
      return false;
  }
}

}  // namespace

EventRecorder::EventRecorder(Client& client, async::Timers& timers, base::Random& random,
                             async::Executor executor, EventRecorderOptions options)
    : client_(client),
      timers_(timers),
      random_(random),
      options_(std::move(options)),
      arrived_(std::move(executor)) {}

api::Event EventRecorder::make_event(api::ObjectReference object, Type type,
                                     std::string_view reason, std::string message) const {
  namespace events = api::names::events;
  api::Event event;
  event.metadata.ns = object.ns.empty() ? "default" : object.ns;
  event.involved_object = std::move(object);
  event.reason = reason;
  event.message = shortened(std::move(message));
  event.type = type == Type::kNormal ? events::kNormal : events::kWarning;
  event.source.emplace().component = options_.component;
  event.reporting_component = options_.component;
  event.first_timestamp = base::format_rfc3339(timers_.clock().now());
  event.last_timestamp = event.first_timestamp;
  event.count = 1;
  return event;
}

void EventRecorder::record(api::ObjectReference object, Type type, std::string_view reason,
                           std::string message) {
  api::Event event = make_event(std::move(object), type, reason, std::move(message));
  std::string identity = identity_of(event);
  const auto same = std::ranges::find(queue_, identity, &Pending::identity);
  if (same != queue_.end()) {
    ++same->event.count;
    same->event.last_timestamp = event.last_timestamp;
    return;
  }
  if (queue_.size() >= options_.queue_max) {
    if (dropped_++ == 0) observe::log_warning("events are dropped: the queue is full");
    return;
  }
  queue_.push_back(Pending{std::move(event), std::move(identity)});
  arrived_.notify_all();
}

async::Task<void> EventRecorder::run() {
  while (!co_await async::is_cancelled()) {
    if (queue_.empty()) {
      (void)co_await arrived_.wait();
      continue;
    }
    Pending next = std::move(queue_.front());
    queue_.pop_front();
    co_await write(std::move(next));
  }
}

async::Task<void> EventRecorder::write(Pending pending) {
  Backoff backoff(kBackoff);
  for (int attempt = 1;; ++attempt) {
    const base::Status status = co_await write_once(pending);
    if (status) co_return;
    if (is_final(status.error()) || attempt >= kAttemptsMax) {
      ++dropped_;
      observe::log_warning("event is dropped", {{"object", pending.event.involved_object.name},
                                                {"reason", pending.event.reason},
                                                {"error", status.error().message}});
      co_return;
    }
    if (co_await async::is_cancelled()) co_return;
    if (co_await timers_.sleep_for(backoff.next(random_)) == async::Wake::kCancelled) co_return;
  }
}

async::Task<base::Status> EventRecorder::write_once(Pending pending) {
  if (written_.contains(pending.identity)) {
    base::Status raised = co_await raise_count(pending);
    if (raised || raised.error().code != base::ErrorCode::kNotFound) co_return raised;
    forget(pending.identity);  // the server has removed the event: tell it anew
  }
  const std::string suffix = "." + random_.hex(8);
  std::string name = pending.event.involved_object.name.substr(0, kNameBytesMax - suffix.size());
  pending.event.metadata.name = std::move(name) + suffix;
  const std::int64_t count = pending.event.count;
  const std::string identity = pending.identity;
  auto created = co_await create<api::Event>(client_, std::move(pending.event));
  if (!created) co_return std::move(created).error();
  remember(identity, key_of(*created), count);
  co_return base::Status();
}

async::Task<base::Status> EventRecorder::raise_count(Pending pending) {
  const Written& known = written_.at(pending.identity);
  const ObjectKey key = known.key;
  const std::int64_t count = known.count + pending.event.count;
  json::object patch{{"count", count}, {"lastTimestamp", pending.event.last_timestamp}};
  json::value body(std::move(patch));
  auto patched = co_await client_.patch(api::Event::kType, key, PatchType::kMerge, std::move(body));
  if (!patched) co_return std::move(patched).error();
  remember(pending.identity, key, count);
  co_return base::Status();
}

void EventRecorder::remember(const std::string& identity, ObjectKey key, std::int64_t count) {
  forget(identity);
  const auto age = ages_.insert(ages_.end(), identity);
  written_.emplace(identity, Written{std::move(key), count, age});
  if (written_.size() > options_.remembered_max) forget(std::string(ages_.front()));
}

void EventRecorder::forget(const std::string& identity) {
  const auto found = written_.find(identity);
  if (found == written_.end()) return;
  ages_.erase(found->second.age);
  written_.erase(found);
}

}  // namespace agenttier::kube
