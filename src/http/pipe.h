#pragma once
// A pipe is a BodyReader whose bytes come from a writer in another task, through a bounded queue.
// It carries what is made while it is sent: event streams, watches, frames of a running process.
//
// Guarantees: write() waits while more than bytes_max wait to be read; a writer whose reader is
// gone gets kCancelled, so it stops; a reader whose writer is destroyed without close() gets an
// error, so that a cut stream is never taken for a whole one. Use both ends on one loop.
//
// Example:
//   Pipe pipe = make_pipe(executor, 256 * 1024);
//   AT_OK(tasks.spawn(follow_log(std::move(pipe.writer))));
//   response.body = Body(std::move(pipe.reader));

#include <cstddef>
#include <memory>
#include <string>

#include "async/task.h"
#include "base/result.h"
#include "http/message.h"

namespace agenttier::http {

namespace detail {
struct PipeState;
}

class PipeWriter {
 public:
  explicit PipeWriter(std::shared_ptr<detail::PipeState> state);
  ~PipeWriter();
  PipeWriter(PipeWriter&&) noexcept;
  PipeWriter& operator=(PipeWriter&&) noexcept;

  // Waits for room, then queues the bytes. kCancelled when the reader is gone, the pipe is closed,
  // or the task is cancelled; the bytes are then dropped. One task writes at a time.
  async::Task<base::Status> write(std::string bytes);
  // Queues at once: kExhausted when full, kCancelled as above.
  base::Status try_write(std::string bytes);
  // The end of the stream, after what is queued.
  void close();
  // The reader gets the error after what is queued.
  void fail(base::Error error);
  // Whether nobody will read any more.
  bool is_abandoned() const;
  // Waits until the reader is gone or the task is cancelled; for writers with nothing to write.
  async::Task<void> wait_abandoned();

 private:
  std::shared_ptr<detail::PipeState> state_;
};

struct Pipe {
  PipeWriter writer;
  std::unique_ptr<BodyReader> reader;
};

Pipe make_pipe(async::Executor executor, std::size_t bytes_max);

}  // namespace agenttier::http
