#pragma once
// A StdinWriter gives bytes to a program, in the order of the calls, waiting as the program reads.

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/task.h"
#include "base/result.h"
#include "os/fd.h"

namespace agenttier::runtime {

class StdinWriter {
 public:
  // A terminal is not closed at the end of file: the end-of-file character is typed instead.
  enum class Kind : std::uint8_t { kPipe, kTerminal };

  StdinWriter(async::Executor executor, os::Fd target, Kind kind);

  // kConflict once it is closed, by us or by the program.
  async::Task<base::Status> write(std::string bytes);
  async::Task<base::Status> end();
  // Writes under way fail.
  void close();
  bool is_open() const { return target_.is_open(); }

 private:
  async::Task<base::Status> write_all(std::string bytes);

  boost::asio::posix::stream_descriptor target_;
  Kind kind_;
  bool busy_ = false;
  async::Event free_;
};

}  // namespace agenttier::runtime
