// The store alone behind a loopback port, for the tests of its API: no controller and no node agent
// that would act on the objects, no authentication. Not a part of the product.
//
// usage: store_server FOLDER [WATCH_EVENTS_MAX [BOOKMARK_MILLISECONDS]]
// Prints its URL on a line when it answers; ends at SIGTERM.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "async/task_group.h"
#include "base/clock.h"
#include "base/random.h"
#include "http/server.h"
#include "store/store.h"

namespace {

using namespace agenttier;

constexpr std::chrono::milliseconds kGrace{200};

async::Task<void> serve(boost::asio::io_context& loop, store::Store& store, http::Server& server) {
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  async::TaskGroup tasks(loop.get_executor(), {.name = "store server", .tasks_max = 1});
  if (tasks.spawn(server.run())) {
    std::printf("http://127.0.0.1:%d\n", server.port());
    std::fflush(stdout);
    co_await signals.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }
  co_await server.close(kGrace);
  co_await tasks.close();
  co_await store.close();
}

int fail(const base::Error& error) {
  std::fprintf(stderr, "store_server: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: store_server FOLDER [WATCH_EVENTS_MAX [BOOKMARK_MILLISECONDS]]\n", stderr);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  store::StoreOptions options;
  if (argc > 2) options.watch_events_max = std::strtoul(argv[2], nullptr, 10);
  if (argc > 3) options.bookmark_interval = std::chrono::milliseconds(std::atoi(argv[3]));
  boost::asio::io_context loop(1);
  base::RealClock clock;
  base::SystemRandom random;
  auto store = store::Store::open(loop.get_executor(), argv[1], clock, random, options);
  if (!store) return fail(store.error());
  auto server = http::Server::listen(loop.get_executor(), (*store)->api(), {});
  if (!server) return fail(server.error());
  boost::asio::co_spawn(loop, serve(loop, **store, **server),
                        [&loop](const std::exception_ptr& failure) {
                          if (failure) std::fputs("store_server: ended by an exception\n", stderr);
                          loop.stop();
                        });
  loop.run();
  // Connections that the server leaves end on the loop.
  server->reset();
  loop.restart();
  loop.poll();
  return 0;
}
