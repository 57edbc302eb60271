#include "programs/resolver.h"

#include <fstream>
#include <sstream>

namespace agenttier::programs {

std::vector<std::string> reachable_nameservers(const std::string& path) {
  std::vector<std::string> servers;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word, address;
    words >> word >> address;
    const bool ipv4 = address.find(':') == std::string::npos && !address.empty();
    if (word == "nameserver" && ipv4 && !address.starts_with("127.")) servers.push_back(address);
  }
  return servers;
}

}  // namespace agenttier::programs
