#pragma once
// The command line program, all but `up`.

#include <string>
#include <vector>

#include "cli/command.h"

namespace agenttier::cli {

// Runs one command and gives the exit code: 0 done, 1 failed, 2 the command line is wrong, 130
// interrupted; `sandbox exec` gives the command's own. `more` are commands that the program adds.
int run(std::vector<std::string> arguments, const std::vector<Command>& more = {});

}  // namespace agenttier::cli
