#include "runtime/followed_log.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/limits.h"

namespace agenttier::runtime {

using namespace std::chrono_literals;

FollowedLog::FollowedLog(async::Executor executor, const base::Clock& clock, std::size_t bytes_max,
                         OnMemory on_memory)
    : clock_(clock),
      bytes_max_(bytes_max),
      log_(bytes_max),
      on_memory_(std::move(on_memory)),
      changed_(executor),
      room_(executor) {}

FollowedLog::~FollowedLog() {
  if (noted_memory_ > 0) on_memory_(-static_cast<std::ptrdiff_t>(noted_memory_));
}

FollowedLog::Follower FollowedLog::follow(std::uint64_t offset, Patience patience) {
  return followers_.insert(followers_.end(), {offset, clock_.monotonic(), patience});
}

void FollowedLog::advance(Follower follower, std::uint64_t offset) {
  follower->offset = offset;
  follower->progress = clock_.monotonic();
  room_.notify_all();
}

void FollowedLog::unfollow(Follower follower) {
  followers_.erase(follower);
  room_.notify_all();
}

void FollowedLog::append(Channel channel, std::string_view bytes) {
  log_.append(channel, bytes);
  note_memory();
  changed_.notify_all();
}

void FollowedLog::drop_before(std::uint64_t offset) {
  log_.drop_before(offset);
  note_memory();
}

bool FollowedLog::has_room() const {
  const auto now = clock_.monotonic();
  return std::all_of(followers_.begin(), followers_.end(), [&](const Reader& reader) {
    const std::uint64_t unread = log_.end() - std::min(reader.offset, log_.end());
    if (unread + append_bytes_max() <= bytes_max_) return true;
    return reader.patience == Patience::kLimited && now - reader.progress >= kFollowerStallMax;
  });
}

async::Task<async::Wake> FollowedLog::wait_room() {
  return room_.wait_for(100ms);
}

std::size_t FollowedLog::append_bytes_max() const {
  return std::min(kPipeReadBytes, bytes_max_ / 2);
}

void FollowedLog::note_memory() {
  const std::size_t now = log_.memory_bytes();
  if (now == noted_memory_) return;
  const auto difference =
      static_cast<std::ptrdiff_t>(now) - static_cast<std::ptrdiff_t>(noted_memory_);
  noted_memory_ = now;
  on_memory_(difference);
}

}  // namespace agenttier::runtime
