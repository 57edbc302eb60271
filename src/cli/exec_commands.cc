// sandbox exec and sandbox logs: output as it comes, input passed on, the command's own exit code.
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <csignal>

#include "async/blocking_pool.h"
#include "async/task_group.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/frame_reader.h"

namespace agenttier::cli {
namespace json = boost::json;
namespace {

constexpr std::string_view kFrames = "application/vnd.agenttier.frames";
constexpr std::size_t kInputPiece = 64 * 1024;
constexpr int kInterrupted = 130;

bool input_is_given() {
  struct stat status {};
  if (fstat(STDIN_FILENO, &status) != 0) return false;
  if (isatty(STDIN_FILENO) != 0) return false;
  // /dev/null and a closed descriptor have nothing to pass on.
  return !S_ISCHR(status.st_mode);
}

// Standard input as a request body. Reads happen on a thread, since a pipe may never end.
class InputReader final : public http::BodyReader {
 public:
  explicit InputReader(async::BlockingPool& pool) : pool_(pool) {}

  async::Task<base::Result<std::string>> read() override {
    auto piece = co_await pool_.run([]() -> base::Result<std::string> {
      std::string buffer(kInputPiece, '\0');
      ssize_t got = 0;
      do {
        got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      } while (got < 0 && errno == EINTR);
      if (got < 0) return base::from_errno("read standard input", errno);
      buffer.resize(static_cast<std::size_t>(got));
      return buffer;
    });
    co_return piece;
  }

 private:
  async::BlockingPool& pool_;
};

base::Result<json::object> specification(const Values& values) {
  json::object spec;
  const auto words = values.all("COMMAND");
  if (words.size() == 1) {
    spec["command"] = words.front();
  } else {
    json::array argv;
    for (const std::string& word : words) argv.emplace_back(word);
    spec["argv"] = std::move(argv);
  }
  if (values.has("--cwd")) spec["cwd"] = values.get("--cwd");
  json::object env;
  for (const std::string& pair : values.all("--env")) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return base::invalid_field("--env", "'" + pair + "' must be NAME=VALUE");
    env[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  if (!env.empty()) spec["env"] = std::move(env);
  if (const auto text = values.find("--timeout")) {
    std::int64_t seconds = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), seconds);
    if (read.ec != std::errc() || read.ptr != text->data() + text->size() || seconds < 1 ||
        seconds > 86400 * 365) {
      return base::invalid_field("--timeout",
                                 "'" + *text + "' must be a whole number of seconds, 1 or more");
    }
    spec["timeoutMs"] = seconds * 1000;
  }
  return spec;
}

// One run of a command in a sandbox.
class Execution {
 public:
  Execution(Context& context, std::string sandbox_path, json::object spec)
      : context_(context),
        path_(std::move(sandbox_path)),
        spec_(std::move(spec)),
        input_pool_(1),
        helpers_(context.api.loop().get_executor(), {.name = "exec", .tasks_max = 4}) {}

  async::Task<base::Result<int>> run() {
    AT_CO_TRY(const std::string process, co_await start());
    (void)helpers_.spawn(watch_interrupts(process));
    if (feeds_input_) (void)helpers_.spawn(feed(process));
    auto code = co_await follow(process);
    auto removed = co_await context_.api.call(context_.api.request("DELETE", process));
    (void)removed;  // the server forgets it by itself in the end
    // The input thread may sit in a read that never returns; leaving is the only way out.
    if (feeds_input_) leave(code);
    co_await helpers_.close();
    co_return code;
  }

 private:
  async::Task<base::Result<std::string>> start() {
    feeds_input_ = input_is_given();
    if (feeds_input_) spec_["stdinOpen"] = true;
    http::Request request = context_.api.request("POST", path_ + "/processes");
    request.headers.set("Content-Type", "application/json");
    request.body = http::Body(json::serialize(spec_));
    AT_CO_TRY(http::Response response, co_await context_.api.call(std::move(request)));
    AT_CO_TRY(const std::string body, co_await response.body.read_all(1 << 20));
    boost::system::error_code failed;
    const auto reply = json::parse(body, failed);
    if (failed || !reply.is_object()) co_return base::internal("the server's answer is not JSON");
    co_return path_ + "/processes/" + quoted(cell(reply.as_object(), "id"));
  }

  async::Task<base::Result<int>> follow(std::string process) {
    http::Request request = context_.api.request("GET", process + "/output?follow=true");
    request.headers.set("Accept", std::string(kFrames));
    AT_CO_TRY(http::Response response, co_await context_.api.call(std::move(request)));
    FrameReader frames(response.body.into_reader());
    while (true) {
      auto frame = co_await frames.next();
      if (!frame) co_return std::move(frame).error().context("read the output");
      switch (frame->channel) {
        case 1:
          context_.out(frame->payload);
          break;
        case 2:
          context_.note(frame->payload);
          break;
        case 3:
          co_return finish(frame->payload);
        default:
          break;
      }
    }
  }

  base::Result<int> finish(const std::string& payload) {
    boost::system::error_code failed;
    const auto status = json::parse(payload, failed);
    if (failed || !status.is_object()) return base::internal("the exit status is not JSON");
    const auto& object = status.as_object();
    const auto* code = object.if_contains("exitCode");
    if (cell(object, "reason") == "timeout")
      context_.note("agenttier: the command was ended at its time limit\n");
    if (cell(object, "reason") == "oom")
      context_.note("agenttier: the command was ended because memory ran out\n");
    return code != nullptr && code->is_int64() ? static_cast<int>(code->as_int64()) : 1;
  }

  async::Task<void> feed(std::string process) {
    http::Request request = context_.api.request("POST", process + "/stdin?eof=true");
    request.body = http::Body(std::make_unique<InputReader>(input_pool_));
    auto sent = co_await context_.api.call(std::move(request));
    (void)sent;  // a command may end without reading its input
  }

  // The first Ctrl-C interrupts the command, the second one leaves.
  async::Task<void> watch_interrupts(std::string process) {
    boost::asio::signal_set signals(context_.api.loop(), SIGINT, SIGTERM);
    for (int count = 0;; ++count) {
      auto [error, signal] =
          co_await signals.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
      if (error) co_return;
      if (count > 0) {
        context_.note("agenttier: interrupted\n");
        std::_Exit(kInterrupted);
      }
      http::Request request = context_.api.request("POST", process + "/signal");
      request.headers.set("Content-Type", "application/json");
      request.body = http::Body(
          std::string(signal == SIGINT ? R"({"signal":"INT"})" : R"({"signal":"TERM"})"));
      auto sent = co_await context_.api.call(std::move(request));
      (void)sent;
    }
  }

  void leave(const base::Result<int>& code) const {
    if (!code) context_.note("agenttier: sandbox exec: " + visible(code.error().message) + "\n");
    std::_Exit(code ? *code : 1);
  }

  Context& context_;
  std::string path_;
  json::object spec_;
  bool feeds_input_ = false;
  async::BlockingPool input_pool_;
  async::TaskGroup helpers_;
};

async::Task<base::Result<int>> run_execution(Execution& execution) {
  co_return co_await execution.run();
}

base::Result<int> exec(Context& context, const Values& values) {
  AT_TRY(json::object spec, specification(values));
  const std::string path = "/sandboxes/" + quoted(values.get("NAME"));
  if (context.format != Format::kText) {
    // The whole result as one object, as the API gives it.
    if (const auto* limit = spec.if_contains("timeoutMs")) {
      spec["timeout"] = limit->as_int64() / 1000;
      spec.erase("timeoutMs");
    }
    AT_TRY(const json::value reply, context.api.send("POST", path + "/exec", spec));
    context.print(reply, "");
    const auto* code = reply.as_object().if_contains("exitCode");
    return code != nullptr && code->is_int64() ? static_cast<int>(code->as_int64()) & 255 : 1;
  }
  Execution execution(context, path, std::move(spec));
  return context.api.run(run_execution(execution));
}

base::Result<int> logs(Context& context, const Values& values) {
  std::string path = "/sandboxes/" + quoted(values.get("NAME")) + "/logs";
  std::string_view separator = "?";
  if (values.has("--tail")) {
    path += "?tail=" + quoted(values.get("--tail"));
    separator = "&";
  }
  if (values.has("--follow")) path += std::string(separator) + "follow=true";
  AT_TRY(http::Response response, context.api.raw(context.api.request("GET", path)));
  const auto body = response.body.into_reader();
  while (true) {
    AT_TRY(const std::string piece, context.api.read(*body));
    if (piece.empty()) return 0;
    context.out(piece);
  }
}

}  // namespace

std::vector<Command> exec_commands() {
  return {
      {.path = "sandbox exec",
       .summary = "Run a command in a sandbox",
       .arguments = {{"NAME", "the sandbox"}},
       .flags = {{"--timeout", "SECONDS", "end it after so long"},
                 {"--cwd", "FOLDER", "run it there (default: the workspace)"},
                 {"--env", "NAME=VALUE", "an environment variable; may be repeated", "-e",
                  Repeat::kMany}},
       .run = exec,
       .takes_command_line = true},
      {.path = "sandbox logs",
       .summary = "Show what the sandbox's main program wrote",
       .arguments = {{"NAME", "the sandbox"}},
       .flags = {{"--follow", "", "go on as more comes", "-f"},
                 {"--tail", "LINES", "only the last lines"}},
       .run = logs},
  };
}

}  // namespace agenttier::cli
