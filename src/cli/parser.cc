#include "cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

namespace agenttier::cli {
namespace {

constexpr int kUsageError = 2;

// Where CLI11 puts what it reads, for one flag or argument.
struct Slot {
  std::string name;
  std::vector<std::string> values;
  bool given = false;
};

class Builder {
 public:
  explicit Builder(const std::vector<Command>& commands)
      : app_("Sandboxes for agents and developers", "agenttier") {
    app_.require_subcommand(0, 1);
    app_.fallthrough();
    app_.set_version_flag("--version", std::string("agenttier ") + AGENTTIER_VERSION);
    for (const Flag& flag : global_flags()) add_flag(app_, flag);
    for (const Command& command : commands) add_command(command);
  }

  Parsed parse(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());
    try {
      app_.parse(arguments);
    } catch (const CLI::ParseError& error) {
      return explain(error);
    }
    for (const auto& [app, command] : leaves_) {
      if (app->parsed()) return collect(*app, *command);
    }
    // A group without a command, or nothing at all: show what there is.
    return {
        .command = nullptr, .values = {}, .text = deepest(app_)->help(), .exit_code = kUsageError};
  }

 private:
  CLI::App* group(CLI::App& parent, const std::string& word) {
    for (CLI::App* existing : parent.get_subcommands([](CLI::App*) { return true; })) {
      if (existing->get_name() == word) return existing;
    }
    CLI::App* made =
        parent.add_subcommand(word, "Commands on " + word + (word.back() == 's' ? "" : "s"));
    made->require_subcommand(0, 1);
    made->fallthrough();
    return made;
  }

  void add_command(const Command& command) {
    CLI::App* parent = &app_;
    std::string_view rest = command.path;
    for (auto space = rest.find(' '); space != std::string_view::npos; space = rest.find(' ')) {
      parent = group(*parent, std::string(rest.substr(0, space)));
      rest.remove_prefix(space + 1);
    }
    CLI::App* app = parent->add_subcommand(std::string(rest), std::string(command.summary));
    app->fallthrough();
    for (const Argument& argument : command.arguments) add_argument(*app, argument);
    for (const Flag& flag : command.flags) add_flag(*app, flag);
    if (command.takes_command_line) {
      app->prefix_command();
      app->footer("COMMAND: one word is a shell line; several are a program and its arguments");
    }
    leaves_.emplace_back(app, &command);
  }

  Slot& slot(std::string_view name) {
    slots_.push_back({.name = std::string(name), .values = {}, .given = false});
    return slots_.back();
  }

  void add_argument(CLI::App& app, const Argument& argument) {
    Slot& into = slot(argument.name);
    owner_[&into] = &app;
    auto* option = app.add_option(into.name, into.values, std::string(argument.help));
    option->type_name("");
    if (argument.repeat == Repeat::kMany) {
      option->expected(1, -1);
    } else {
      option->expected(1);
    }
    if (argument.repeat != Repeat::kOptional) option->required();
  }

  void add_flag(CLI::App& app, const Flag& flag) {
    Slot& into = slot(flag.name);
    owner_[&into] = &app;
    const std::string names =
        flag.short_name.empty() ? into.name : std::string(flag.short_name) + "," + into.name;
    if (flag.value.empty()) {
      app.add_flag(names, into.given, std::string(flag.help));
      return;
    }
    auto* option = app.add_option(names, into.values, std::string(flag.help));
    option->type_name(std::string(flag.value));
    option->expected(1);
    if (flag.repeat == Repeat::kMany) {
      option->take_all();
    } else {
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
    option->allow_extra_args(false);
  }

  Parsed collect(const CLI::App& app, const Command& command) {
    Parsed parsed{.command = &command, .values = {}, .text = "", .exit_code = 0};
    for (const Slot& from : slots_) {
      const CLI::App* owner = owner_.at(&from);
      if (owner != &app && owner != &app_) continue;
      if (from.given) parsed.values.add(from.name, "");
      for (const std::string& value : from.values) parsed.values.add(from.name, value);
    }
    std::vector<std::string> rest = app.remaining();
    if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
    for (std::string& word : rest) parsed.values.add("COMMAND", std::move(word));
    if (command.takes_command_line && !parsed.values.has("COMMAND")) {
      return {.command = nullptr,
              .values = {},
              .text = "agenttier " + std::string(command.path) + ": COMMAND is missing\n",
              .exit_code = kUsageError};
    }
    return parsed;
  }

  static CLI::App* deepest(CLI::App& app) {
    const auto parsed = app.get_subcommands();
    return parsed.empty() ? &app : deepest(*parsed.front());
  }

  Parsed explain(const CLI::ParseError& error) {
    CLI::App* where = deepest(app_);
    if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr) {
      return {.command = nullptr, .values = {}, .text = where->help(), .exit_code = 0};
    }
    if (dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr) {
      return {.command = nullptr,
              .values = {},
              .text = std::string(error.what()) + "\n",
              .exit_code = 0};
    }
    std::string path;
    for (CLI::App* app = where; app != nullptr; app = app->get_parent()) {
      path = app->get_name() + (path.empty() ? "" : " " + path);
    }
    return {.command = nullptr,
            .values = {},
            .text = path + ": " + error.what() + "\nTry '" + path + " --help'.\n",
            .exit_code = kUsageError};
  }

  CLI::App app_;
  std::deque<Slot> slots_;  // addresses must stay: CLI11 writes through them
  std::map<const Slot*, const CLI::App*> owner_;
  std::vector<std::pair<CLI::App*, const Command*>> leaves_;
};

}  // namespace

Parsed parse(const std::vector<Command>& commands, std::vector<std::string> arguments) {
  return Builder(commands).parse(std::move(arguments));
}

}  // namespace agenttier::cli
