#include "router/exec_output.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <utility>

#include "base/bytes.h"

namespace agenttier::router {
namespace {

namespace json = boost::json;

constexpr std::size_t kPieceBytes = 32 * 1024;

// The length of the first piece of `text`: at most kPieceBytes, and not inside a UTF-8 sequence.
std::size_t piece_length(std::string_view text) {
  if (text.size() <= kPieceBytes) return text.size();
  std::size_t end = kPieceBytes;
  const auto is_continuation = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  for (int back = 0; back < 3 && is_continuation(end); ++back) --end;
  return is_continuation(end) ? kPieceBytes : end;
}

// Writes {"stdout":"...","stderr":"...",<tail>} a piece at a time.
class ExecJsonReader final : public http::BodyReader {
 public:
  ExecJsonReader(ExecOutput output, std::string tail)
      : output_(std::move(output)), tail_(std::move(tail)) {}

  async::Task<base::Result<std::string>> read() override { co_return next(); }

 private:
  enum class Step { kStart, kOut, kMiddle, kErr, kTail, kEnd };

  std::string next() {
    std::string piece;
    while (step_ != Step::kEnd && piece.size() < kPieceBytes) {
      switch (step_) {
        case Step::kStart:
          advance(piece, "{\"stdout\":\"", Step::kOut);
          break;
        case Step::kOut:
          take(piece, output_.standard_output(), Step::kMiddle);
          break;
        case Step::kMiddle:
          advance(piece, "\",\"stderr\":\"", Step::kErr);
          break;
        case Step::kErr:
          take(piece, output_.standard_error(), Step::kTail);
          break;
        case Step::kTail:
          advance(piece, "\"," + tail_ + "}", Step::kEnd);
          break;
        case Step::kEnd:
          break;
      }
    }
    return piece;
  }

  void advance(std::string& piece, std::string_view text, Step step) {
    piece += text;
    step_ = step;
    position_ = 0;
  }

  void take(std::string& piece, std::string_view stream, Step after) {
    const std::string_view rest = stream.substr(position_);
    const std::size_t length = piece_length(rest);
    append_json_text(piece, rest.substr(0, length));
    position_ += length;
    if (position_ == stream.size()) advance(piece, "", after);
  }

  ExecOutput output_;
  std::string tail_;
  Step step_ = Step::kStart;
  std::size_t position_ = 0;
};

}  // namespace

ExecOutput::ExecOutput(ByteBudget& budget, std::size_t bytes_max)
    : budget_(&budget), bytes_max_(bytes_max) {}

ExecOutput::ExecOutput(ExecOutput&& other) noexcept
    : budget_(other.budget_),
      bytes_max_(other.bytes_max_),
      bytes_held_(std::exchange(other.bytes_held_, 0)),
      offset_(other.offset_),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      status_(std::move(other.status_)),
      truncated_(other.truncated_),
      ended_(other.ended_) {}

ExecOutput::~ExecOutput() {
  budget_->bytes_used -= bytes_held_;
}

base::Status ExecOutput::add(const Frame& frame) {
  switch (frame.channel) {
    case Frame::Channel::kStdout:
      keep(out_, frame);
      break;
    case Frame::Channel::kStderr:
      keep(err_, frame);
      break;
    case Frame::Channel::kKeepAlive:
      break;
    case Frame::Channel::kStatus: {
      AT_TRY(status_, parse_process_status(frame.payload));
      ended_ = true;
      break;
    }
  }
  return {};
}

void ExecOutput::keep(std::string& stream, const Frame& frame) {
  if (frame.offset != offset_) truncated_ = true;
  offset_ = frame.offset + frame.payload.size();
  const std::size_t free_here = bytes_max_ - bytes_held_;
  const std::size_t free_of_all =
      budget_->bytes_max - std::min(budget_->bytes_max, budget_->bytes_used);
  const std::size_t fits = std::min({frame.payload.size(), free_here, free_of_all});
  if (fits < frame.payload.size()) truncated_ = true;
  stream += frame.payload.substr(0, fits);
  bytes_held_ += fits;
  budget_->bytes_used += fits;
}

std::int64_t ExecOutput::exit_code() const {
  return timed_out() ? -1 : status_.exit_code;
}

http::Body ExecOutput::into_json() && {
  json::object rest;
  rest["exitCode"] = exit_code();
  rest["durationMs"] = status_.duration_ms;
  rest["truncated"] = truncated();
  rest["timedOut"] = timed_out();
  if (!status_.reason.empty()) rest["reason"] = base::to_valid_utf8(status_.reason);
  if (status_.signal) rest["signal"] = base::to_valid_utf8(*status_.signal);
  std::string tail = json::serialize(rest);
  tail = tail.substr(1, tail.size() - 2);
  if (out_.size() + err_.size() > kPieceBytes) {
    return http::Body(std::make_unique<ExecJsonReader>(std::move(*this), std::move(tail)));
  }
  std::string text = "{\"stdout\":\"";
  append_json_text(text, out_);
  text += "\",\"stderr\":\"";
  append_json_text(text, err_);
  text += "\"," + tail + "}";
  return http::Body(std::move(text));
}

void append_json_text(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  const std::string valid = base::is_valid_utf8(text) ? std::string() : base::to_valid_utf8(text);
  const std::string_view source = valid.empty() ? text : std::string_view(valid);
  std::size_t plain = 0;
  for (std::size_t at = 0; at < source.size(); ++at) {
    const auto byte = static_cast<unsigned char>(source[at]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out += source.substr(plain, at - plain);
    plain = at + 1;
    switch (byte) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  out += source.substr(plain);
}

}  // namespace agenttier::router
