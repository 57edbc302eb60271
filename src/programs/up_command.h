#pragma once
// The `up` command: reads its flags, runs the whole server in this process, ends it cleanly on
// SIGINT or SIGTERM. Sandboxes keep running when it ends.

#include "cli/command.h"

namespace agenttier::programs {

cli::Command up_command();

}  // namespace agenttier::programs
