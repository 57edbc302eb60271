#pragma once
// The calls on files (docs/runtime-protocol.md): parses a request, does the work on the blocking
// pool, answers. At most kFileStreamsMax contents are on their way at once.

#include <cstddef>
#include <memory>
#include <string>

#include "async/task.h"
#include "base/random.h"
#include "http/message.h"
#include "runtime/file_roots.h"

namespace agenttier::async {
class BlockingPool;
}

namespace agenttier::runtime {

class Activity;

class FileRoutes {
 public:
  // All of it outlives the routes and every response of theirs. Use of `random` is from the pool.
  FileRoutes(FileRoots roots, async::BlockingPool& blocking, base::Random& random,
             Activity& activity);

  // `path` is what follows /v1/files, with its slash or empty.
  async::Task<http::Response> handle(http::Request request, http::Target target, std::string path);
  async::Task<http::Response> archive(http::Target target);

 private:
  class Ticket;
  class ContentReader;
  class ListingReader;
  class ZipReader;

  async::Task<base::Result<http::Response>> dispatch(http::Request request, http::Target target,
                                                     std::string call);
  async::Task<base::Result<http::Response>> list(http::Target target);
  async::Task<base::Result<http::Response>> stat(http::Target target);
  async::Task<base::Result<http::Response>> read(http::Request request, http::Target target);
  async::Task<base::Result<http::Response>> write(http::Request request, http::Target target);
  async::Task<base::Result<http::Response>> make_directory(http::Target target);
  async::Task<base::Result<http::Response>> move(http::Target target);
  async::Task<base::Result<http::Response>> remove(http::Target target);
  async::Task<base::Result<http::Response>> zip(http::Target target);
  base::Result<std::shared_ptr<Ticket>> take_ticket();

  FileRoots roots_;
  async::BlockingPool& blocking_;
  base::Random& random_;
  Activity& activity_;
  std::shared_ptr<std::size_t> streams_ = std::make_shared<std::size_t>(0);
};

}  // namespace agenttier::runtime
