#include "runtime/config.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace agenttier::runtime {
namespace {

constexpr std::string_view kOwnPrefix = "AGENTTIER_RUNTIME_";
constexpr int kInnerGroupsMax = 8;
constexpr std::string_view kPathDefault =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::optional<std::string_view> find(std::span<const std::string_view> environment,
                                     std::string_view name) {
  for (std::string_view variable : environment) {
    if (variable.size() > name.size() && variable.starts_with(name) &&
        variable[name.size()] == '=') {
      return variable.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

base::Status read_listen(std::string_view text, Config& config) {
  const std::size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const char* const last = port.data() + port.size();
  const auto [end, failure] = std::from_chars(port.data(), last, config.port);
  if (port.empty() || failure != std::errc() || end != last) {
    return base::invalid(
        "AGENTTIER_RUNTIME_LISTEN: must be \"address:port\", for example 0.0.0.0:9000");
  }
  std::string_view address = text.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  if (!address.empty()) config.listen_addresses = {std::string(address)};
  return {};
}

base::Status read_inner_groups(std::string_view text, Config& config) {
  const char* const last = text.data() + text.size();
  const auto [end, failure] = std::from_chars(text.data(), last, config.inner_groups);
  if (failure != std::errc() || end != last || config.inner_groups < 0 ||
      config.inner_groups > kInnerGroupsMax) {
    return base::invalid("AGENTTIER_RUNTIME_INNER_GROUPS: must be a number from 0 to " +
                         std::to_string(kInnerGroupsMax));
  }
  return {};
}

base::Status read_workspace(std::string_view text, Config& config) {
  if (!text.starts_with('/') || text == "/") {
    return base::invalid("AGENTTIER_WORKSPACE: must be an absolute path below /");
  }
  config.workspace = text;
  while (config.workspace.ends_with('/')) config.workspace.pop_back();
  return {};
}

void read_environment(std::span<const std::string_view> environment, Config& config) {
  for (std::string_view variable : environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos || variable.starts_with(kOwnPrefix)) continue;
    config.environment.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  if (!find(environment, "PATH")) config.environment.emplace_back("PATH", kPathDefault);
  if (!find(environment, "HOME")) config.environment.emplace_back("HOME", config.workspace);
}

base::Status read_arguments(std::span<const std::string_view> arguments, Config& config) {
  if (arguments.empty()) return {};
  if (arguments[0] != "--") {
    return base::invalid("unknown argument " + std::string(arguments[0]) +
                         "; usage: agenttier-runtime [-- command argument...]");
  }
  config.main_argv.assign(arguments.begin() + 1, arguments.end());
  if (config.main_argv.empty()) return base::invalid("--: must be followed by a command");
  return {};
}

}  // namespace

base::Result<Config> read_config(std::span<const std::string_view> arguments,
                                 std::span<const std::string_view> environment) {
  Config config;
  AT_OK(read_arguments(arguments, config));
  // A dual-stack socket where there is IPv6, else IPv4 alone.
  config.listen_addresses = {"::", "0.0.0.0"};
  const auto hash = find(environment, "AGENTTIER_RUNTIME_TOKEN_SHA256");
  auto token = TokenHash::parse(hash.value_or(""));
  if (!token) return std::move(token).error().context("AGENTTIER_RUNTIME_TOKEN_SHA256");
  config.token = *std::move(token);
  if (const auto listen = find(environment, "AGENTTIER_RUNTIME_LISTEN")) {
    AT_OK(read_listen(*listen, config));
  }
  if (const auto groups = find(environment, "AGENTTIER_RUNTIME_INNER_GROUPS")) {
    AT_OK(read_inner_groups(*groups, config));
  }
  if (const auto workspace = find(environment, "AGENTTIER_WORKSPACE")) {
    AT_OK(read_workspace(*workspace, config));
  }
  read_environment(environment, config);
  return config;
}

}  // namespace agenttier::runtime
