#pragma once
// The command table: each command is a row of words, arguments and flags with a function that runs
// it. Parsing, help and shell completion are made from the rows; a command's own file holds nothing
// but its rows and functions.
//
// Example:
//   Command{.path = "sandbox stop", .summary = "Stop a sandbox; its files are kept",
//           .arguments = {{"NAME", "the sandbox"}}, .run = stop}

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agenttier::cli {

struct Context;

enum class Repeat { kOnce, kOptional, kMany };

struct Argument {
  std::string_view name;
  std::string_view help;
  Repeat repeat = Repeat::kOnce;
};

struct Flag {
  std::string_view name;   // "--timeout"
  std::string_view value;  // placeholder of its value; empty: a switch
  std::string_view help;
  std::string_view short_name = "";  // "-f"
  Repeat repeat = Repeat::kOnce;
};

// What the user gave: flag or argument name → values, in order. A switch that is given has "".
class Values {
 public:
  void add(std::string name, std::string value) {
    values_[std::move(name)].push_back(std::move(value));
  }
  bool has(const std::string& name) const { return values_.contains(name); }
  std::optional<std::string> find(const std::string& name) const;
  std::string get(const std::string& name) const { return find(name).value_or(""); }
  std::vector<std::string> all(const std::string& name) const;

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

struct Command {
  std::string_view path;  // "sandbox files ls"
  std::string_view summary;
  std::vector<Argument> arguments = {};
  std::vector<Flag> flags = {};
  // The exit code, or the error that the user sees.
  base::Result<int> (*run)(Context& context, const Values& values) = nullptr;
  // Everything after the arguments goes to "COMMAND" as it is, flags included.
  bool takes_command_line = false;
};

std::vector<Command> account_commands();
std::vector<Command> sandbox_commands();
std::vector<Command> exec_commands();
std::vector<Command> file_commands();
std::vector<Command> template_commands();
std::vector<Command> image_commands();
// All of the above and `completion`.
const std::vector<Command>& all_commands();

// Flags that every command takes.
const std::vector<Flag>& global_flags();

}  // namespace agenttier::cli
