#include "http/pipe.h"

#include <deque>
#include <optional>
#include <utility>

#include "async/event.h"
#include "base/assert.h"

namespace agenttier::http {

namespace detail {

struct PipeState {
  PipeState(async::Executor executor, std::size_t bytes_max_in)
      : bytes_max(bytes_max_in), changed(std::move(executor)) {}

  bool has_room() const { return bytes < bytes_max; }
  bool is_open() const { return !reader_gone && !writer_done; }

  std::size_t bytes_max;
  std::deque<std::string> pieces;
  std::size_t bytes = 0;
  bool reader_gone = false;
  bool writer_done = false;
  std::optional<base::Error> failure;
  async::Event changed;
};

}  // namespace detail

namespace {

constexpr std::size_t kPieceBytesMax = 64 * 1024;

base::Error reader_is_gone() {
  return base::cancelled("write to a pipe: nobody reads it any more");
}

class PipeReader final : public BodyReader {
 public:
  explicit PipeReader(std::shared_ptr<detail::PipeState> state) : state_(std::move(state)) {}
  ~PipeReader() override {
    state_->reader_gone = true;
    state_->pieces.clear();
    state_->changed.notify_all();
  }

  async::Task<base::Result<std::string>> read() override {
    const auto state = state_;
    while (state->pieces.empty() && !state->writer_done) {
      const auto wake = co_await state->changed.wait();
      if (wake == async::Wake::kCancelled) {
        co_return base::cancelled("read a pipe");
      }
    }
    if (!state->pieces.empty()) co_return next_piece(*state);
    if (state->failure) co_return *state->failure;
    co_return std::string();
  }

 private:
  // What is queued, joined up to the size of a piece, so that a burst of small writes is one send.
  static std::string next_piece(detail::PipeState& state) {
    std::string piece = std::move(state.pieces.front());
    state.pieces.pop_front();
    while (!state.pieces.empty() && piece.size() + state.pieces.front().size() <= kPieceBytesMax) {
      piece += state.pieces.front();
      state.pieces.pop_front();
    }
    state.bytes -= piece.size();
    state.changed.notify_all();
    return piece;
  }

  std::shared_ptr<detail::PipeState> state_;
};

void push(detail::PipeState& state, std::string bytes) {
  state.bytes += bytes.size();
  state.pieces.push_back(std::move(bytes));
  state.changed.notify_all();
}

}  // namespace

PipeWriter::PipeWriter(std::shared_ptr<detail::PipeState> state) : state_(std::move(state)) {}
PipeWriter::PipeWriter(PipeWriter&&) noexcept = default;

PipeWriter& PipeWriter::operator=(PipeWriter&& other) noexcept {
  PipeWriter old(std::exchange(state_, std::move(other.state_)));
  return *this;
}

PipeWriter::~PipeWriter() {
  if (state_) fail(base::unavailable("the stream's source ended without finishing it"));
}

async::Task<base::Status> PipeWriter::write(std::string bytes) {
  const auto state = state_;
  while (state->is_open() && !state->has_room()) {
    const auto wake = co_await state->changed.wait();
    if (wake == async::Wake::kCancelled) {
      co_return base::cancelled("write to a pipe");
    }
  }
  if (!state->is_open()) co_return reader_is_gone();
  if (!bytes.empty()) push(*state, std::move(bytes));
  co_return base::Status();
}

base::Status PipeWriter::try_write(std::string bytes) {
  if (!state_->is_open()) return reader_is_gone();
  if (!state_->has_room()) return base::exhausted("write to a pipe: it is full");
  if (!bytes.empty()) push(*state_, std::move(bytes));
  return {};
}

void PipeWriter::close() {
  state_->writer_done = true;
  state_->changed.notify_all();
}

void PipeWriter::fail(base::Error error) {
  if (state_->writer_done) return;
  state_->failure = std::move(error);
  close();
}

bool PipeWriter::is_abandoned() const {
  return state_->reader_gone;
}

async::Task<void> PipeWriter::wait_abandoned() {
  const auto state = state_;
  while (!state->reader_gone) {
    const auto wake = co_await state->changed.wait();
    if (wake == async::Wake::kCancelled) co_return;
  }
}

Pipe make_pipe(async::Executor executor, std::size_t bytes_max) {
  AT_ASSERT(bytes_max > 0);
  auto state = std::make_shared<detail::PipeState>(std::move(executor), bytes_max);
  return {PipeWriter(state), std::make_unique<PipeReader>(state)};
}

}  // namespace agenttier::http
