#pragma once
// An EventRecorder writes Events: what happened to an object, told to people.
//
// Guarantees: record() never waits and never fails; run() writes in the background, in order. The
// same event on the same object again raises the count of the first one instead of making another.
// When the queue is full the event is dropped and counted; when the API refuses one it is tried
// again a few times, then dropped and counted. Events are for people: nothing may depend on them.
// Not thread-safe: one loop. The references given to the constructor outlive the recorder.
//
// Example (kube/event_recorder_test.cc):
//   EventRecorder events(client, timers, random, executor, {.component = "agenttier-controller"});
//   AT_CO_OK(group.spawn(events.run()));
//   events.record(object_reference(sandbox), EventRecorder::Type::kNormal, "Stopped", "by its
//   owner");

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <string_view>

#include "api/event.h"
#include "api/object_meta.h"
#include "async/event.h"
#include "async/timers.h"
#include "base/random.h"
#include "kube/client.h"

namespace agenttier::kube {

struct EventRecorderOptions {
  std::string component;
  std::size_t queue_max = 1000;
  std::size_t remembered_max = 4096;  // events whose repeats are counted
};

// The reference by which an Event names an object of a generated type.
template <class T>
api::ObjectReference object_reference(const T& object) {
  api::ObjectReference reference;
  reference.api_version = T::kType.version;
  if (!T::kType.group.empty()) {
    reference.api_version = std::string(T::kType.group) + "/" + reference.api_version;
  }
  reference.kind = T::kType.kind;
  reference.ns = object.metadata.ns;
  reference.name = object.metadata.name;
  reference.uid = object.metadata.uid;
  reference.resource_version = object.metadata.resource_version;
  return reference;
}

class EventRecorder {
 public:
  enum class Type : std::uint8_t { kNormal, kWarning };

  EventRecorder(Client& client, async::Timers& timers, base::Random& random,
                async::Executor executor, EventRecorderOptions options);
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void record(api::ObjectReference object, Type type, std::string_view reason, std::string message);

  // Writes until cancelled.
  async::Task<void> run();

  std::size_t queued() const { return queue_.size(); }
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Pending {
    api::Event event;  // count: how often it happened since it was queued
    std::string identity;
  };
  struct Written {
    ObjectKey key;
    std::int64_t count;
    std::list<std::string>::iterator age;
  };

  api::Event make_event(api::ObjectReference object, Type type, std::string_view reason,
                        std::string message) const;
  async::Task<void> write(Pending pending);
  async::Task<base::Status> write_once(Pending pending);
  async::Task<base::Status> raise_count(Pending pending);
  void remember(const std::string& identity, ObjectKey key, std::int64_t count);
  void forget(const std::string& identity);

  Client& client_;
  async::Timers& timers_;
  base::Random& random_;
  const EventRecorderOptions options_;
  async::Event arrived_;
  std::deque<Pending> queue_;
  std::map<std::string, Written> written_;
  std::list<std::string> ages_;  // identities, the longest unused first
  std::uint64_t dropped_ = 0;
};

}  // namespace agenttier::kube
