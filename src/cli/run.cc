#include "cli/run.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>

#include "cli/completion.h"
#include "cli/context.h"
#include "cli/parser.h"
#include "observe/log.h"

namespace agenttier::cli {
namespace {

base::Result<int> completion(Context& context, const Values& values) {
  AT_TRY(const std::string script, completion_script(all_commands(), values.get("SHELL")));
  context.out(script);
  return 0;
}

void complain(std::string_view command, const base::Error& error) {
  const std::string text = "agenttier: " + std::string(command) + (command.empty() ? "" : ": ") +
                           visible(error.message) + "\n";
  const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  (void)written;
}

base::Result<int> run_parsed(const Parsed& parsed) {
  const Values& values = parsed.values;
  AT_TRY(const Format format, parse_format(values.get("--output")));
  const Config flags{.api_url = values.get("--api-url"),
                     .api_key = values.get("--api-key"),
                     .token = values.get("--token")};
  AT_TRY(const Config file, load_config(config_path()));
  boost::asio::io_context loop;
  ApiClient api(loop, combine(file, config_from_environment(), flags));
  Context context{.api = api,
                  .format = format,
                  .file_config = file,
                  .flag_config = flags,
                  .progress = isatty(STDERR_FILENO) == 1};
  return parsed.command->run(context, values);
}

}  // namespace

std::optional<std::string> Values::find(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Values::all(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

const std::vector<Flag>& global_flags() {
  static const std::vector<Flag> flags = {
      {"--api-url", "URL", "the server, for example http://127.0.0.1:8080"},
      {"--api-key", "KEY", "your API key"},
      {"--token", "TOKEN", "a bearer token instead of an API key"},
      {"--output", "FORMAT", "text, json or yaml", "-o"},
  };
  return flags;
}

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = [] {
    std::vector<Command> all;
    for (auto part : {account_commands(), sandbox_commands(), exec_commands(), file_commands(),
                      template_commands(), image_commands()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    all.push_back({.path = "completion",
                   .summary = "Print the completion script of a shell",
                   .arguments = {{"SHELL", "bash, zsh or fish"}},
                   .run = completion});
    return all;
  }();
  return commands;
}

int run(std::vector<std::string> arguments, const std::vector<Command>& more) {
  std::signal(SIGPIPE, SIG_IGN);
  observe::set_log_level(observe::Level::kOff);
  std::vector<Command> commands = all_commands();
  commands.insert(commands.end(), more.begin(), more.end());
  const Parsed parsed = parse(commands, std::move(arguments));
  if (parsed.command == nullptr) {
    const ssize_t written = ::write(parsed.exit_code == 0 ? STDOUT_FILENO : STDERR_FILENO,
                                    parsed.text.data(), parsed.text.size());
    (void)written;
    return parsed.exit_code;
  }
  auto code = run_parsed(parsed);
  if (code) return *code;
  complain(parsed.command->path, code.error());
  return code.error().code == base::ErrorCode::kInvalid && !code.error().causes.empty() &&
                 code.error().causes[0].field.starts_with("--")
             ? 2
             : 1;
}

}  // namespace agenttier::cli
