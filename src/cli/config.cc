#include "cli/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace agenttier::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string text_of(const boost::json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

std::string without_trailing_slash(std::string url) {
  while (!url.empty() && url.back() == '/') url.pop_back();
  return url;
}

void overlay(Config& base, const Config& over) {
  if (!over.api_url.empty()) base.api_url = without_trailing_slash(over.api_url);
  if (over.api_key.empty() && over.token.empty()) return;
  base.api_key = over.api_key;
  base.token = over.token;
}

}  // namespace

std::string config_path() {
  if (std::string path = environment("AGENTTIER_CONFIG"); !path.empty()) return path;
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.config/agenttier/config.json";
}

base::Result<Config> load_config(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return errno == ENOENT || path.empty() ? base::Result<Config>(Config{})
                                           : base::from_errno("read " + path, errno);
  std::stringstream text;
  text << file.rdbuf();
  boost::system::error_code failed;
  const auto value = boost::json::parse(text.str(), failed);
  if (failed || !value.is_object()) {
    return base::invalid("read " + path +
                         ": it is not a JSON object; run 'agenttier login' to write it anew");
  }
  const auto& object = value.as_object();
  return Config{.api_url = without_trailing_slash(text_of(object, "api_url")),
                .api_key = text_of(object, "api_key"),
                .token = text_of(object, "token")};
}

base::Status save_config(const std::string& path, const Config& config) {
  if (path.empty())
    return base::invalid("no place for the configuration: set HOME or AGENTTIER_CONFIG");
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (!folder.empty() && std::filesystem::create_directories(folder, failed)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failed);
  }
  const std::string temporary = path + ".new";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return base::from_errno("write " + temporary, errno);
  std::string text =
      "{\n  \"api_url\": " + boost::json::serialize(boost::json::string(config.api_url)) +
      ",\n  \"api_key\": " + boost::json::serialize(boost::json::string(config.api_key)) +
      ",\n  \"token\": " + boost::json::serialize(boost::json::string(config.token)) + "\n}\n";
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(fd);
  if (!written) return base::from_errno("write " + temporary, error);
  if (rename(temporary.c_str(), path.c_str()) != 0) return base::from_errno("write " + path, errno);
  return {};
}

Config combine(const Config& file, const Config& environment, const Config& flags) {
  Config combined = file;
  overlay(combined, environment);
  overlay(combined, flags);
  return combined;
}

Config config_from_environment() {
  return {.api_url = environment("AGENTTIER_API_URL"),
          .api_key = environment("AGENTTIER_API_KEY"),
          .token = environment("AGENTTIER_TOKEN")};
}

}  // namespace agenttier::cli
