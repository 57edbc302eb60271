#pragma once
// What the runtime is told at its start, by its environment and its arguments.
//
//   AGENTTIER_RUNTIME_TOKEN_SHA256  the token's SHA-256, 64 hex digits; required
//   AGENTTIER_RUNTIME_LISTEN        "address:port", default every address, port 9000
//   AGENTTIER_RUNTIME_INNER_GROUPS  how many descriptors, from 3 on, lead into the programs'
//   control
//                                   groups; default none
//   AGENTTIER_WORKSPACE             default /workspace
//   arguments after "--"            the main process: when it ends, the runtime ends with its code

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/token.h"

namespace agenttier::runtime {

inline constexpr int kInnerGroupFirst = 3;

struct Config {
  TokenHash token;
  std::vector<std::string> listen_addresses;  // the first that works
  std::uint16_t port = 9000;
  int inner_groups = 0;
  std::string workspace = "/workspace";
  std::vector<std::string> main_argv;
  // For programs: the runtime's own without what concerns the runtime alone.
  std::vector<std::pair<std::string, std::string>> environment;
};

// `environment` is a list of "NAME=value". An error names the variable and what is wrong with it.
base::Result<Config> read_config(std::span<const std::string_view> arguments,
                                 std::span<const std::string_view> environment);

}  // namespace agenttier::runtime
