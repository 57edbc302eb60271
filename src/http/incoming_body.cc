#include "http/incoming_body.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <utility>

namespace agenttier::http {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

IncomingBody::IncomingBody(std::shared_ptr<Link> link, const MessageHead& head,
                           std::chrono::milliseconds idle_time_max)
    : link_(std::move(link)),
      framing_(head.framing),
      left_(head.content_length),
      idle_time_max_(idle_time_max),
      done_(head.framing == Framing::kNone) {}

async::Task<base::Result<std::string>> IncomingBody::read() {
  const base::Error over = base::cancelled("receive the body: the exchange is over");
  if (abandoned_) co_return over;
  auto piece = co_await read_piece();
  // Abandoned meanwhile: what came may not be all there was.
  if (abandoned_) co_return over;
  co_return piece;
}

async::Task<base::Result<std::string>> IncomingBody::read_piece() {
  if (done_) co_return std::string();
  if (broken_) co_return *broken_;
  base::Result<std::string> piece = std::string();
  if (framing_ == Framing::kLength) {
    piece = co_await read_length();
  } else if (framing_ == Framing::kChunked) {
    piece = co_await read_chunks();
  } else {
    piece = co_await read_to_end();
  }
  if (!piece) broken_ = std::move(piece).error().context("receive the body");
  if (broken_) co_return *broken_;
  co_return piece;
}

std::optional<std::string> IncomingBody::take_if_complete() {
  if (done_) return std::string();
  if (framing_ != Framing::kLength || left_ > kPieceBytes || link_->data().size() < left_) {
    return std::nullopt;
  }
  finish();
  return link_->take(left_);
}

void IncomingBody::finish() {
  done_ = true;
  link_->set_read_bytes(kHeadReadBytes);
}

async::Task<base::Status> IncomingBody::wait_more() {
  if (std::exchange(continue_owed_, false)) {
    Buffers interim{boost::asio::buffer(kContinue)};
    AT_CO_OK(co_await link_->write(interim));
  }
  if (idle_time_max_.count() > 0) link_->set_read_deadline(idle_time_max_);
  auto status = co_await link_->wait_more();
  link_->clear_read_deadline();
  co_return status;
}

async::Task<base::Result<std::string>> IncomingBody::read_length() {
  link_->set_read_bytes(left_ > kHeadReadBytes ? kPieceBytes : kHeadReadBytes);
  if (link_->data().empty()) AT_CO_OK(co_await wait_more());
  if (left_ <= link_->data().size()) link_->set_read_bytes(kHeadReadBytes);
  std::string piece = link_->take(std::min<std::uint64_t>(left_, kPieceBytes));
  left_ -= piece.size();
  if (left_ == 0) finish();
  co_return piece;
}

async::Task<base::Result<std::string>> IncomingBody::read_chunks() {
  std::string piece;
  link_->set_read_bytes(kPieceBytes);
  while (true) {
    const std::string_view data = link_->data().substr(0, kPieceBytes);
    AT_CO_TRY(const std::size_t used, chunks_.decode(data, piece));
    if (chunks_.done()) finish();
    link_->consume(used);
    if (done_ || !piece.empty()) co_return piece;
    AT_CO_OK(co_await wait_more());
  }
}

async::Task<base::Result<std::string>> IncomingBody::read_to_end() {
  link_->set_read_bytes(kPieceBytes);
  if (link_->data().empty()) {
    auto status = co_await wait_more();
    if (!status) {
      if (!link_->ended_cleanly()) co_return std::move(status).error();
      done_ = true;
      co_return std::string();
    }
  }
  co_return link_->take(kPieceBytes);
}

async::Task<base::Status> IncomingBody::drain(std::uint64_t bytes_max,
                                              std::chrono::milliseconds time_max) {
  abandoned_ = true;
  const auto end = std::chrono::steady_clock::now() + time_max;
  std::uint64_t drained = 0;
  while (!done_) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) co_return base::deadline_exceeded("drain the body");
    idle_time_max_ = left;
    AT_CO_TRY(const std::string piece, co_await read_piece());
    drained += piece.size();
    if (drained > bytes_max) co_return base::exhausted("drain the body: more than the limit");
  }
  co_return base::Status();
}

}  // namespace agenttier::http
