#pragma once
// A runtime in this process: tests start real programs through its service, with or without a
// socket.

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/runtime_protocol.h"
#include "async/blocking_pool.h"
#include "async/task_group.h"
#include "base/clock.h"
#include "base/random.h"
#include "http/service.h"
#include "runtime/process_table.h"
#include "runtime/reaper.h"
#include "runtime/runtime_service.h"

namespace agenttier::runtime {

struct Frame {
  int channel = 0;
  std::uint64_t offset = 0;
  std::string payload;
};
// Fails the test if the bytes are not whole frames.
std::vector<Frame> parse_frames(std::string_view bytes);

// What frames add up to.
struct Output {
  std::string out;
  std::string err;
  std::optional<api::ProcessStatus> status;
};
Output collect(const std::vector<Frame>& frames);

struct Reply {
  int status = 0;
  std::string body;
  http::Headers headers;
};

class RuntimeTest : public testing::Test {
 protected:
  explicit RuntimeTest(std::size_t running_max = 256);
  ~RuntimeTest() override;

  // Runs the loop until the task is done.
  template <class T>
  T await(async::Task<T> task) {
    std::optional<T> result;
    auto done = [&](const std::exception_ptr& failure, T value) {
      if (failure) std::rethrow_exception(failure);
      result = std::move(value);
    };
    boost::asio::co_spawn(loop_, quiet(std::move(task)), std::move(done));
    while (!result) loop_.run_one();
    return *std::move(result);
  }
  // Runs the loop until the condition holds, two minutes at most.
  void await_until(const std::function<bool()>& condition);

  http::Request request(std::string method, std::string target, http::Body body = {}) const;
  Reply call(std::string method, std::string target, http::Body body = {});
  // POST /v1/exec to its end.
  Output exec(const std::string& spec_json);
  // Starts a process and gives its object.
  api::Process start(const std::string& spec_json);
  Output output(const std::string& id, const std::string& query = "follow=true");
  std::string workspace() const { return workspace_.string(); }

  boost::asio::io_context loop_;
  base::RealClock clock_;
  base::SystemRandom random_;
  std::filesystem::path workspace_;
  Reaper reaper_;
  ProcessTable table_;
  async::BlockingPool blocking_{2};
  RuntimeService service_;
  async::TaskGroup background_;

 private:
  template <class T>
  static async::Task<T> quiet(async::Task<T> task) {
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    co_return co_await std::move(task);
  }
};

}  // namespace agenttier::runtime
