#include "http/upload.h"

#include <exception>
#include <utility>

namespace agenttier::http {

async::Task<void> Upload::send(std::shared_ptr<Upload> self, std::string head,
                               std::unique_ptr<BodyReader> reader, StreamFraming framing) {
  try {
    self->result_ = co_await send_stream(self->link_, std::move(head), std::move(reader), framing);
  } catch (const std::exception& failure) {
    self->result_ = base::internal(std::string("the body's reader threw: ") + failure.what());
  }
}

async::Task<void> Upload::run(std::string head, std::unique_ptr<BodyReader> reader,
                              StreamFraming framing) {
  const auto self = shared_from_this();
  auto sending = send(self, std::move(head), std::move(reader), framing);
  co_await scope_.run(std::move(sending));
  done_ = true;
  // When the peer does not take the body, its answer may still come.
  if (!result_ && result_.error().code != base::ErrorCode::kUnavailable) link_->abort();
  ended_.notify_all();
}

async::Task<void> Upload::wait() {
  const auto self = shared_from_this();
  while (!done_) co_await ended_.wait_shielded();
}

}  // namespace agenttier::http
