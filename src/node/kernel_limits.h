#pragma once
// Limits that the kernel keeps for a user or for the whole machine, not for a sandbox.
//
// The programs of all sandboxes run as one user of this machine, so what one takes of such a limit
// is missing in the others. All that these limits count is also charged to the memory of the
// sandbox that takes it. So they are moved out of the way, and every sandbox meets a limit of its
// own first.
//
// Raised, never lowered, and left raised: sandboxes run on when the server ends.
//
// Example:
//   for (const std::string& text : raise_kernel_limits("/proc/sys")) log_warning(text);

#include <string>
#include <vector>

namespace agenttier::node {

// `settings` is the folder of the kernel's settings. For each limit that stays: what it means and
// what to do, in a sentence.
std::vector<std::string> raise_kernel_limits(const std::string& settings);

}  // namespace agenttier::node
