#include "runtime/process_spec.h"

#include <array>
#include <boost/json/parse.hpp>
#include <boost/system/error_code.hpp>
#include <csignal>

#include "api/runtime_protocol.h"

namespace agenttier::runtime {
namespace {

namespace json = boost::json;
using base::invalid_field;
using base::Result;
using base::Status;

Result<json::value> parse_json(std::string_view text) {
  boost::system::error_code failure;
  json::parse_options options;
  options.max_depth = 8;
  json::value value = json::parse(text, failure, {}, options);
  if (failure) return base::invalid("body: not valid JSON: " + failure.message());
  if (!value.is_object()) return base::invalid("body: must be a JSON object");
  return value;
}

// What the kernel passes to a program as one string.
Status check_string(const std::string& field, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return invalid_field(field, "must not contain a NUL byte");
  }
  if (text.size() > kStringBytesMax) {
    return invalid_field(field, "is longer than " + std::to_string(kStringBytesMax) +
                                    " bytes; pass it through stdin or a file");
  }
  return {};
}

Status take_argv(api::ProcessSpec& wire, ProcessSpec& spec) {
  if (wire.argv.empty() != wire.command.has_value()) {
    return base::invalid("argv, command: give exactly one of the two, not empty");
  }
  if (wire.command) {
    AT_OK(check_string("command", *wire.command));
    spec.argv = {"/bin/sh", "-c", *std::move(wire.command)};
    return {};
  }
  for (std::size_t i = 0; i < wire.argv.size(); ++i) {
    AT_OK(check_string("argv[" + std::to_string(i) + "]", wire.argv[i]));
  }
  if (wire.argv[0].empty()) return invalid_field("argv[0]", "must not be empty");
  spec.argv = std::move(wire.argv);
  return {};
}

Status take_env(api::ProcessSpec& wire, ProcessSpec& spec) {
  for (auto& [name, value] : wire.env) {
    AT_OK(check_string("env." + name, value));
    spec.env.emplace_back(name, std::move(value));
  }
  return {};
}

Status take_cwd(api::ProcessSpec& wire, ProcessSpec& spec) {
  if (!wire.cwd) return {};
  spec.cwd = *std::move(wire.cwd);
  AT_OK(check_string("cwd", spec.cwd));
  if (!spec.cwd.starts_with('/') || spec.cwd.size() > kPathBytesMax) {
    return invalid_field(
        "cwd", "must be an absolute path of at most " + std::to_string(kPathBytesMax) + " bytes");
  }
  return {};
}

Status check_total(const ProcessSpec& spec) {
  std::size_t total = 0;
  for (const std::string& text : spec.argv) total += text.size() + 1 + sizeof(char*);
  for (const auto& [name, value] : spec.env) {
    total += name.size() + value.size() + 2 + sizeof(char*);
  }
  if (total <= kStringsBytesMax) return {};
  return base::invalid("argv, env: together longer than " + std::to_string(kStringsBytesMax) +
                       " bytes; pass large data through stdin or a file");
}

struct SignalName {
  std::string_view name;
  int number;
};
constexpr std::array kSignals = {
    SignalName{"HUP", SIGHUP},       SignalName{"INT", SIGINT},   SignalName{"QUIT", SIGQUIT},
    SignalName{"ILL", SIGILL},       SignalName{"TRAP", SIGTRAP}, SignalName{"ABRT", SIGABRT},
    SignalName{"BUS", SIGBUS},       SignalName{"FPE", SIGFPE},   SignalName{"KILL", SIGKILL},
    SignalName{"USR1", SIGUSR1},     SignalName{"SEGV", SIGSEGV}, SignalName{"USR2", SIGUSR2},
    SignalName{"PIPE", SIGPIPE},     SignalName{"ALRM", SIGALRM}, SignalName{"TERM", SIGTERM},
    SignalName{"CHLD", SIGCHLD},     SignalName{"CONT", SIGCONT}, SignalName{"STOP", SIGSTOP},
    SignalName{"TSTP", SIGTSTP},     SignalName{"TTIN", SIGTTIN}, SignalName{"TTOU", SIGTTOU},
    SignalName{"URG", SIGURG},       SignalName{"XCPU", SIGXCPU}, SignalName{"XFSZ", SIGXFSZ},
    SignalName{"VTALRM", SIGVTALRM}, SignalName{"PROF", SIGPROF}, SignalName{"WINCH", SIGWINCH},
    SignalName{"IO", SIGIO},         SignalName{"PWR", SIGPWR},   SignalName{"SYS", SIGSYS},
};

TerminalSize make_size(std::optional<std::int64_t> cols, std::optional<std::int64_t> rows) {
  TerminalSize size;
  if (cols) size.cols = static_cast<std::uint16_t>(*cols);
  if (rows) size.rows = static_cast<std::uint16_t>(*rows);
  return size;
}

}  // namespace

Result<ProcessSpec> parse_process_spec(std::string_view json_text) {
  AT_TRY(const json::value body, parse_json(json_text));
  AT_TRY(api::ProcessSpec wire, api::ProcessSpec::from_json(body));
  ProcessSpec spec;
  AT_OK(take_argv(wire, spec));
  AT_OK(take_cwd(wire, spec));
  AT_OK(take_env(wire, spec));
  if (wire.stdin) {
    spec.stdin_bytes = *std::move(wire.stdin);
    spec.stdin_mode = StdinMode::kGiven;
  }
  if (wire.stdin_open) spec.stdin_mode = StdinMode::kOpen;
  if (wire.tty) spec.terminal = make_size(wire.cols, wire.rows);
  spec.time_limit = std::chrono::milliseconds(wire.timeout_ms);
  if (wire.output_bytes_max) {
    spec.output_bytes_max = static_cast<std::size_t>(*wire.output_bytes_max);
  }
  AT_OK(check_total(spec));
  return spec;
}

Result<TerminalSize> parse_terminal_size(std::string_view json_text) {
  AT_TRY(const json::value body, parse_json(json_text));
  AT_TRY(const api::ResizeRequest wire, api::ResizeRequest::from_json(body));
  return make_size(wire.cols, wire.rows);
}

Result<int> parse_signal(std::string_view json_text) {
  AT_TRY(const json::value body, parse_json(json_text));
  AT_TRY(const api::SignalRequest wire, api::SignalRequest::from_json(body));
  std::string_view name = wire.signal;
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const SignalName& entry : kSignals) {
    if (entry.name == name) return entry.number;
  }
  return invalid_field("signal", "unknown signal; give a name such as \"TERM\" or \"INT\"");
}

std::string signal_name(int number) {
  for (const SignalName& entry : kSignals) {
    if (entry.number == number) return std::string(entry.name);
  }
  return std::to_string(number);
}

}  // namespace agenttier::runtime
