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

  Parsed parse(std::vector<std::string> arguments, std::vector<std::string> command_line) {
    command_line_ = std::move(command_line);
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
    const CLI::App* shown = deepest(app_);
    return {.command = nullptr,
            .values = {},
            .text = shown->help(path_of(shown->get_parent())),
            .exit_code = kUsageError};
  }

 private:
  CLI::App* group(CLI::App& parent, const std::string& word) {
    for (CLI::App* existing : parent.get_subcommands([](CLI::App*) { return true; })) {
      if (existing->get_name() == word) return existing;
    }
    CLI::App* made =
        parent.add_subcommand(word, "Commands on " + (word == "sandbox"    ? "sandboxes"
                                                      : word.back() == 's' ? word
                                                                           : word + "s"));
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
      option->allow_extra_args(false);  // or it would take the next arguments' words too
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
    for (const std::string& word : command_line_) parsed.values.add("COMMAND", word);
    if (command.takes_command_line && !parsed.values.has("COMMAND")) {
      return {.command = nullptr,
              .values = {},
              .text = "agenttier " + std::string(command.path) + ": COMMAND is missing\n",
              .exit_code = kUsageError};
    }
    return parsed;
  }

  // "agenttier sandbox create".
  static std::string path_of(const CLI::App* app) {
    std::string path;
    for (; app != nullptr; app = app->get_parent()) {
      path = app->get_name() + (path.empty() ? "" : " " + path);
    }
    return path;
  }

  static CLI::App* deepest(CLI::App& app) {
    const auto parsed = app.get_subcommands();
    return parsed.empty() ? &app : deepest(*parsed.front());
  }

  Parsed explain(const CLI::ParseError& error) {
    CLI::App* where = deepest(app_);
    if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr) {
      return {.command = nullptr,
              .values = {},
              .text = where->help(path_of(where->get_parent())),
              .exit_code = 0};
    }
    if (dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr) {
      return {.command = nullptr,
              .values = {},
              .text = std::string(error.what()) + "\n",
              .exit_code = 0};
    }
    const std::string path = path_of(where);
    return {.command = nullptr,
            .values = {},
            .text = path + ": " + error.what() + "\nTry '" + path + " --help'.\n",
            .exit_code = kUsageError};
  }

  CLI::App app_;
  std::vector<std::string> command_line_;
  std::deque<Slot> slots_;  // addresses must stay: CLI11 writes through them
  std::map<const Slot*, const CLI::App*> owner_;
  std::vector<std::pair<CLI::App*, const Command*>> leaves_;
};

bool takes_value(const Command& command, std::string_view word) {
  for (const auto* flags : {&global_flags(), &command.flags}) {
    for (const Flag& flag : *flags) {
      if (!flag.value.empty() && (word == flag.name || word == flag.short_name)) return true;
    }
  }
  return false;
}

// Cuts off what belongs to COMMAND: all that follows the last argument's word, or a "--".
std::vector<std::string> cut_command_line(const Command& command, std::vector<std::string>& words) {
  const auto spaces = std::count(command.path.begin(), command.path.end(), ' ');
  std::size_t plain_left = static_cast<std::size_t>(spaces) + 1 + command.arguments.size();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool dashes = words[i] == "--";
    if (!dashes && words[i].starts_with('-') && words[i].size() > 1) {
      if (takes_value(command, words[i])) ++i;
      continue;
    }
    if (!dashes && plain_left-- > 0) continue;
    std::vector<std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(i) + (dashes ? 1 : 0),
                                  words.end());
    words.resize(i);
    return rest;
  }
  return {};
}

// The command with a COMMAND part that the words begin with, if any.
const Command* find_prefixed(const std::vector<Command>& commands,
                             const std::vector<std::string>& words) {
  for (const Command& command : commands) {
    if (!command.takes_command_line) continue;
    std::string plain;
    for (std::size_t i = 0; i < words.size() && plain.size() < command.path.size(); ++i) {
      if (takes_value(command, words[i]))
        ++i;
      else if (!words[i].starts_with('-'))
        plain += (plain.empty() ? "" : " ") + words[i];
    }
    if (plain == command.path) return &command;
  }
  return nullptr;
}

}  // namespace

Parsed parse(const std::vector<Command>& commands, std::vector<std::string> arguments) {
  std::vector<std::string> command_line;
  if (const Command* command = find_prefixed(commands, arguments)) {
    command_line = cut_command_line(*command, arguments);
  }
  return Builder(commands).parse(std::move(arguments), std::move(command_line));
}

}  // namespace agenttier::cli
