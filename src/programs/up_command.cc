#include "programs/up_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/context.h"
#include "observe/log.h"
#include "programs/all_in_one.h"

namespace agenttier::programs {
namespace {

constexpr std::string_view kListenDefault = "127.0.0.1:8080";

base::Status read_listen(const std::string& text, UpOptions& options) {
  const auto colon = text.rfind(':');
  unsigned port = 0;
  const char* first = text.data() + (colon == std::string::npos ? 0 : colon + 1);
  const char* last = text.data() + text.size();
  const auto read = std::from_chars(first, last, port);
  if (colon == std::string::npos || colon == 0 || read.ec != std::errc() || read.ptr != last ||
      port > 65535) {
    return base::invalid_field("--listen",
                               "'" + text + "' must be HOST:PORT, for example 127.0.0.1:8080");
  }
  options.listen_address = text.substr(0, colon);
  options.listen_port = static_cast<std::uint16_t>(port);
  return {};
}

base::Result<observe::Level> read_level(const std::string& text) {
  if (text.empty() || text == "info") return observe::Level::kInfo;
  if (text == "debug") return observe::Level::kDebug;
  if (text == "warning") return observe::Level::kWarning;
  if (text == "error") return observe::Level::kError;
  return base::invalid_field("--log-level",
                             "'" + text + "' is unknown; use debug, info, warning or error");
}

// The program's own folder, where the runtime binary lies beside it.
base::Result<std::string> program_folder() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return base::from_errno("find this program's folder", failed.value());
  return path.parent_path().string();
}

base::Result<UpOptions> read_options(const cli::Values& values) {
  UpOptions options;
  std::error_code failed;
  options.state_dir =
      std::filesystem::absolute(values.find("--state-dir").value_or(options.state_dir), failed);
  AT_OK(read_listen(values.find("--listen").value_or(std::string(kListenDefault)), options));
  if (const auto images = values.find("--images"))
    options.images_dir = std::filesystem::absolute(*images, failed);
  options.pod_subnet = values.get("--pod-subnet");
  for (const std::string& registry : values.all("--insecure-registry")) {
    options.insecure_registries.insert(registry);
  }
  if (const auto name = values.find("--container-runtime")) {
    AT_TRY(options.native_runtime, node::parse_native_runtime(*name));
  }
  AT_TRY(const std::string folder, program_folder());
  options.runtime_binary = values.find("--runtime-binary").value_or(folder + "/agenttier-runtime");
  return options;
}

// Ends at a signal, or at once when the server cannot start.
async::Task<void> serve(AllInOne& server, boost::asio::io_context& loop, base::Status& outcome) {
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  outcome = co_await server.start();
  if (outcome) {
    co_await signals.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    observe::log_info("stopping; sandboxes keep running");
  }
  co_await server.close();
}

// Whatever the caller's umask: mount points inside sandboxes must be open to their user. What is
// private lies in the state folder, which only root may enter.
void prepare_process() {
  umask(0022);
  std::signal(SIGPIPE, SIG_IGN);
}

base::Result<int> up(cli::Context& context, const cli::Values& values) {
  AT_TRY(UpOptions options, read_options(values));
  AT_TRY(const observe::Level level, read_level(values.get("--log-level")));
  if (geteuid() != 0) {
    return base::denied(
        "it must run as root: it makes mounts, namespaces and network rules for sandboxes");
  }
  prepare_process();
  observe::set_log_level(level);
  options.log_in_cli = context.file_config.api_url.empty();
  boost::asio::io_context loop(1);
  auto server = std::make_unique<AllInOne>(loop.get_executor(), std::move(options));
  base::Status outcome;
  boost::asio::co_spawn(loop, serve(*server, loop, outcome),
                        [&loop](const std::exception_ptr& failure) {
                          if (failure) observe::log_error("the server ended by an exception");
                          loop.stop();
                        });
  loop.run();
  // Connections that the server leaves end on the loop.
  server.reset();
  loop.restart();
  loop.poll();
  if (!outcome) return std::move(outcome).error();
  return 0;
}

}  // namespace

cli::Command up_command() {
  return {.path = "up",
          .summary = "Run the server on this machine, in the foreground",
          .flags = {{"--state-dir", "FOLDER", "where everything is kept (/var/lib/agenttier)"},
                    {"--listen", "HOST:PORT", "where the API listens (127.0.0.1:8080)"},
                    {"--images", "FOLDER", "folder of OCI layouts to use as agenttier/<name>"},
                    {"--pod-subnet", "CIDR", "addresses of sandboxes (a free 10.x.0.0/16)"},
                    {"--insecure-registry", "HOST:PORT", "a registry without TLS; may be repeated",
                     "", cli::Repeat::kMany},
                    {"--container-runtime", "NAME", "crun or runc (crun if it is installed)"},
                    {"--runtime-binary", "FILE",
                     "the runtime put into sandboxes (beside this program)"},
                    {"--log-level", "LEVEL", "debug, info, warning or error (info)"}},
          .run = up};
}

}  // namespace agenttier::programs
