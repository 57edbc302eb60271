// The `agenttier` program: the command line for people, and `agenttier up`, the server in one
// process.
#include <string>
#include <vector>

#include "cli/run.h"
#include "programs/up_command.h"

int main(int argc, char** argv) {
  return agenttier::cli::run({argv + 1, argv + argc}, {agenttier::programs::up_command()});
}
