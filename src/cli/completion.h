#pragma once
// Shell completion made from the command table.

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/command.h"

namespace agenttier::cli {

// The script for bash, zsh or fish.
base::Result<std::string> completion_script(const std::vector<Command>& commands,
                                            std::string_view shell);

}  // namespace agenttier::cli
