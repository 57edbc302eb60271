#pragma once
// What a machine must have for sandboxes to run on it, asked before anything is set up.
//
// Each answer is one line for a person: what is missing and how to get it. A fault stops the start,
// an advice does not.
//
// Example:
//   for (const PreflightFinding& finding : check_machine(paths, binary)) std::cerr << finding.text
//   << "\n";

#include <string>
#include <vector>

#include "node/node_paths.h"

namespace agenttier::node {

enum class Weight : std::uint8_t { kFault, kAdvice };

struct PreflightFinding {
  Weight weight = Weight::kFault;
  std::string text;  // "runc is not installed: apt-get install runc"
  bool operator==(const PreflightFinding&) const = default;
};

// `runtime_binary` is the program that is put into every sandbox. Blocks for some milliseconds;
// leaves nothing behind.
std::vector<PreflightFinding> check_machine(const NodePaths& paths,
                                            const std::string& runtime_binary);

}  // namespace agenttier::node
