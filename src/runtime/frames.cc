#include "runtime/frames.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "base/assert.h"
#include "runtime/limits.h"
#include "runtime/process.h"

namespace agenttier::runtime {
namespace {

void append_big_endian(std::string& out, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>(static_cast<unsigned char>(number >> shift));
  }
}

}  // namespace

void append_frame(std::string& out, FrameChannel channel, std::uint64_t offset,
                  std::string_view payload) {
  AT_ASSERT(payload.size() <= kFramePayloadMax);
  out += static_cast<char>(channel);
  append_big_endian(out, offset, 8);
  append_big_endian(out, payload.size(), 4);
  out += payload;
}

FrameReader::FrameReader(std::shared_ptr<Process> process, Options options)
    : process_(std::move(process)),
      options_(std::move(options)),
      follower_(process_->output().follow(options_.since, options_.patience)) {}

FrameReader::~FrameReader() {
  process_->output().unfollow(follower_);
  if (options_.on_close) options_.on_close();
}

std::string FrameReader::take_ready() {
  std::string out;
  if (done_) return out;
  FollowedLog& output = process_->output();
  while (out.size() < kFramePayloadMax) {
    const auto piece = output.log().read(follower_->offset, kFramePayloadMax);
    if (!piece) break;
    truncated_ = truncated_ || piece->offset > follower_->offset;
    append_frame(out, static_cast<FrameChannel>(piece->channel), piece->offset, piece->bytes);
    output.advance(follower_, piece->offset + piece->bytes.size());
  }
  if (follower_->offset < output.log().end()) return out;
  if (process_->status()) append_status(out);
  done_ = process_->status().has_value() || options_.until == Until::kCaughtUp;
  return out;
}

void FrameReader::append_status(std::string& out) {
  api::ProcessStatus status = *process_->status();
  status.truncated = truncated_;
  append_frame(out, FrameChannel::kStatus, 0, boost::json::serialize(status.to_json()));
}

async::Task<base::Result<std::string>> FrameReader::read() {
  while (true) {
    std::string ready = take_ready();
    if (!ready.empty() || done_) co_return ready;
    const auto wake = co_await process_->output().changed().wait_for(kKeepAliveInterval);
    if (wake == async::Wake::kCancelled) co_return base::cancelled("the reader went away");
    if (wake == async::Wake::kTimeout) {
      append_frame(ready, FrameChannel::kKeepAlive, 0, {});
      co_return ready;
    }
  }
}

}  // namespace agenttier::runtime
