#pragma once
// The name servers that sandboxes may be told of.

#include <string>
#include <vector>

namespace agenttier::programs {

// The IPv4 name servers of a resolv.conf but for those on this machine's loopback, which a sandbox
// cannot reach.
std::vector<std::string> reachable_nameservers(const std::string& path);

}  // namespace agenttier::programs
