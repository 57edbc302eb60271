#pragma once
// Turns a command line into a command and its values, or into help or an error for the user.
// Flags may stand anywhere; "--" ends them.

#include <string>
#include <vector>

#include "cli/command.h"

namespace agenttier::cli {

struct Parsed {
  const Command* command = nullptr;  // null: `text` is all there is to do
  Values values;
  std::string text;  // help for standard output, or an error for standard error
  int exit_code = 0;
};

// `arguments` without the program's name.
Parsed parse(const std::vector<Command>& commands, std::vector<std::string> arguments);

}  // namespace agenttier::cli
