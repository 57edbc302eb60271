#pragma once
// A FollowedLog is an OutputLog that is read while it grows.
//
// A follower has an offset that it has read up to. The writer asks has_room() before it appends: as
// long as a follower makes progress, the writer waits for it rather than drop what it has not read.
// A follower of limited patience that takes nothing for kFollowerStallMax is not waited for; it
// then sees a gap. Without followers there is always room, and the oldest output is dropped.
//
// Example:
//   auto follower = log.follow(0, FollowedLog::Patience::kLimited);
//   while (auto piece = log.read(follower->offset, max)) log.advance(follower, piece_end);
//   log.unfollow(follower);

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>

#include "async/event.h"
#include "async/task.h"
#include "base/clock.h"
#include "runtime/output_log.h"

namespace agenttier::runtime {

class FollowedLog {
 public:
  enum class Patience : std::uint8_t { kLimited, kEndless };
  struct Reader {
    std::uint64_t offset;
    base::MonotonicTime progress;
    Patience patience;
  };
  using Follower = std::list<Reader>::iterator;
  // Told by how much the log's memory grew or shrank.
  using OnMemory = std::function<void(std::ptrdiff_t)>;

  FollowedLog(async::Executor executor, const base::Clock& clock, std::size_t bytes_max,
              OnMemory on_memory);
  ~FollowedLog();
  FollowedLog(const FollowedLog&) = delete;
  FollowedLog& operator=(const FollowedLog&) = delete;

  const OutputLog& log() const { return log_; }
  std::size_t memory_bytes() const { return noted_memory_; }

  Follower follow(std::uint64_t offset, Patience patience);
  void advance(Follower follower, std::uint64_t offset);
  void unfollow(Follower follower);
  std::size_t followers() const { return followers_.size(); }

  void append(Channel channel, std::string_view bytes);
  void drop_before(std::uint64_t offset);
  bool has_room() const;
  // Ends when there may be room, at the latest after a short time.
  async::Task<async::Wake> wait_room();
  // How much to append at once so that a follower can keep up.
  std::size_t append_bytes_max() const;

  // Notified by append(), and by whoever changes what readers wait for.
  async::Event& changed() { return changed_; }

 private:
  void note_memory();

  const base::Clock& clock_;
  std::size_t bytes_max_;
  OutputLog log_;
  OnMemory on_memory_;
  std::size_t noted_memory_ = 0;
  std::list<Reader> followers_;
  async::Event changed_;
  async::Event room_;
};

}  // namespace agenttier::runtime
