#pragma once
// An Upload sends a request's streamed body while the response may already be coming.

#include <memory>
#include <string>

#include "async/event.h"
#include "base/result.h"
#include "http/cancel_scope.h"
#include "http/outgoing_body.h"

namespace agenttier::http {

class Upload : public std::enable_shared_from_this<Upload> {
 public:
  Upload(async::Executor executor, std::shared_ptr<Link> link)
      : link_(std::move(link)), ended_(std::move(executor)) {}

  // Runs in a task group. A fault of the body's reader aborts the link, so that nobody takes a cut
  // body for a whole one.
  async::Task<void> run(std::string head, std::unique_ptr<BodyReader> reader,
                        StreamFraming framing);
  void cancel() { scope_.cancel(); }
  async::Task<void> wait();
  bool done() const { return done_; }
  const base::Status& result() const { return result_; }  // when done

 private:
  static async::Task<void> send(std::shared_ptr<Upload> self, std::string head,
                                std::unique_ptr<BodyReader> reader, StreamFraming framing);

  std::shared_ptr<Link> link_;
  CancelScope scope_;
  base::Status result_ = base::cancelled("the body was not sent");
  bool done_ = false;
  async::Event ended_;
};

}  // namespace agenttier::http
