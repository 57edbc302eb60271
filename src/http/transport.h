#pragma once
// A Transport is a byte stream to a peer: TCP today, TLS by another implementation.
//
// One read and one write may be under way at once. close() ends both; completions still come, with
// an error. The transport must live until the completion of what was started.

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "async/task.h"
#include "base/result.h"

namespace agenttier::http {

using Buffers = std::array<boost::asio::const_buffer, 3>;

class Transport {
 public:
  using ReadDone = std::function<void(const boost::system::error_code&, std::size_t)>;

  virtual ~Transport() = default;
  virtual void start_read(char* data, std::size_t size, ReadDone done) = 0;
  virtual void cancel_read() = 0;
  // Writes what can be taken at once, possibly nothing.
  virtual std::size_t try_write(const Buffers& buffers, boost::system::error_code& error) = 0;
  // Waits until at least one byte is taken; kUnavailable when the connection broke.
  virtual async::Task<base::Result<std::size_t>> write_some(Buffers buffers) = 0;
  // Whether the peer has neither sent anything nor ended, asked right now.
  virtual bool is_quiet() = 0;
  // Says that nothing more will be sent; the peer may still send.
  virtual void shutdown_send() = 0;
  virtual void close() = 0;
  // Closes so that the peer sees an error, not an end.
  virtual void abort() = 0;
};

}  // namespace agenttier::http
