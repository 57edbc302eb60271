#include "runtime/output_log.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "runtime/limits.h"

namespace agenttier::runtime {

OutputLog::OutputLog(std::size_t bytes_max) : bytes_max_(bytes_max) {}

void OutputLog::append(Channel channel, std::string_view bytes) {
  if (bytes.empty()) return;
  if (bytes.size() > bytes_max_) {
    // Only its end can stay: what comes before counts as written and dropped.
    const std::size_t skipped = bytes.size() - bytes_max_;
    bytes.remove_prefix(skipped);
    end_ += skipped;
    begin_ = end_;
    blocks_.clear();
    segments_.clear();
  }
  if (segments_.empty() || segments_.back().channel != channel) {
    segments_.push_back({end_, channel});
  }
  copy_in(bytes);
  if (end_ - begin_ > bytes_max_) drop_before(end_ - bytes_max_);
  if (segments_.size() > kOutputSegmentsMax) {
    drop_before(segments_[segments_.size() - kOutputSegmentsMax].begin);
  }
}

void OutputLog::copy_in(std::string_view bytes) {
  if (blocks_.empty()) blocks_begin_ = end_;
  while (!bytes.empty()) {
    const std::uint64_t position = end_ - blocks_begin_;
    // Left uninitialised: a page that is never written costs no memory.
    if (position == blocks_.size() * kBlockBytes) blocks_.emplace_back(new Block);
    const std::size_t within = position % kBlockBytes;
    const std::size_t count = std::min(bytes.size(), kBlockBytes - within);
    std::memcpy(blocks_.back()->data() + within, bytes.data(), count);
    bytes.remove_prefix(count);
    end_ += count;
  }
}

std::optional<OutputLog::Piece> OutputLog::read(std::uint64_t offset, std::size_t bytes_max) const {
  offset = std::max(offset, begin_);
  if (offset >= end_) return std::nullopt;
  const std::size_t index = segment_at(offset);
  const std::uint64_t segment_end =
      index + 1 < segments_.size() ? segments_[index + 1].begin : end_;
  std::size_t left =
      static_cast<std::size_t>(std::min<std::uint64_t>(segment_end - offset, bytes_max));

  Piece piece{segments_[index].channel, offset, {}};
  piece.bytes.reserve(left);
  while (left > 0) {
    const std::uint64_t position = offset - blocks_begin_;
    const std::size_t within = position % kBlockBytes;
    const std::size_t count = std::min(left, kBlockBytes - within);
    piece.bytes.append(blocks_[position / kBlockBytes]->data() + within, count);
    offset += count;
    left -= count;
  }
  return piece;
}

void OutputLog::drop_before(std::uint64_t offset) {
  begin_ = std::clamp(offset, begin_, end_);
  while (!blocks_.empty() && begin_ - blocks_begin_ >= kBlockBytes) {
    blocks_.pop_front();
    blocks_begin_ += kBlockBytes;
  }
  while (segments_.size() > 1 && segments_[1].begin <= begin_) segments_.pop_front();
}

std::size_t OutputLog::memory_bytes() const {
  return blocks_.size() * kBlockBytes + segments_.size() * sizeof(Segment);
}

std::size_t OutputLog::segment_at(std::uint64_t offset) const {
  const auto after = std::upper_bound(
      segments_.begin(), segments_.end(), offset,
      [](std::uint64_t value, const Segment& segment) { return value < segment.begin; });
  return static_cast<std::size_t>(std::distance(segments_.begin(), after)) - 1;
}

}  // namespace agenttier::runtime
