#pragma once
// Where the server is and who the caller is: flags, then environment, then the configuration file.
//
// The file is JSON with the keys api_url, api_key and token, mode 0600, at $AGENTTIER_CONFIG or
// ~/.config/agenttier/config.json.

#include <string>

#include "base/result.h"

namespace agenttier::cli {

struct Config {
  std::string api_url;  // "http://127.0.0.1:8080", without a trailing slash
  std::string api_key;
  std::string token;
  bool operator==(const Config&) const = default;
};

// The path of the file; empty if neither $AGENTTIER_CONFIG nor $HOME is set.
std::string config_path();
// An absent file is an empty configuration; one that cannot be read or parsed is an error.
base::Result<Config> load_config(const std::string& path);
// Writes the file and its folder (0700) so that no other user can read it at any moment.
base::Status save_config(const std::string& path, const Config& config);
// Lays the environment over the file and `flags` over both. A key or token that a stronger source
// gives hides a weaker source's other credential.
Config combine(const Config& file, const Config& environment, const Config& flags);
Config config_from_environment();

}  // namespace agenttier::cli
