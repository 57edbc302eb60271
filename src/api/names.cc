#include "api/names.h"

#include <algorithm>

#include "api/spec_hash.h"
#include "api/validate.h"

#include <fmt/format.h>

namespace agenttier::api::names {
namespace {

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string derived(std::string_view sandbox, std::string_view suffix) {
  return bounded_name(fmt::format("{}{}", sandbox, suffix), kDnsSubdomainMax);
}

}  // namespace

std::string pod_of(std::string_view sandbox) {
  return derived(sandbox, "-pod");
}
std::string claim_of(std::string_view sandbox) {
  return derived(sandbox, "-workspace");
}
std::string network_policy_of(std::string_view sandbox) {
  return derived(sandbox, "-netpol");
}
std::string token_secret_of(std::string_view sandbox) {
  return derived(sandbox, "-runtime-token");
}
std::string files_secret_of(std::string_view sandbox) {
  return derived(sandbox, "-sandbox-files");
}
std::string scoped_key_secret_of(std::string_view sandbox) {
  return derived(sandbox, "-scoped-key");
}
std::string install_log_of(std::string_view sandbox) {
  return derived(sandbox, "-install-log");
}

std::string port_service_of(std::string_view sandbox, std::uint16_t port) {
  return bounded_name(fmt::format("pf-{}-{}", sandbox, port), kDnsLabelMax);
}

std::string api_key_secret_of(std::string_view key_sha256_hex) {
  constexpr std::size_t kHashDigits = 40;
  return fmt::format("agenttier-apikey-{}", key_sha256_hex.substr(0, kHashDigits));
}

std::string bounded_name(std::string_view wanted, std::size_t size_max) {
  if (wanted.size() <= size_max) return std::string(wanted);
  constexpr std::size_t kHashDigits = 10;
  const std::string hash = sha256_hex(wanted).substr(0, kHashDigits);
  return fmt::format("{}-{}", wanted.substr(0, size_max - kHashDigits - 1), hash);
}

std::string label_value_of(std::string_view text) {
  if (text.empty()) return "unknown";
  std::string value(text.substr(0, kDnsLabelMax));
  std::ranges::replace_if(
      value, [](char c) { return !is_alnum(c) && c != '-' && c != '_' && c != '.'; }, '-');
  const auto first = std::ranges::find_if(value, is_alnum);
  if (first == value.end()) return "user";
  value.erase(value.begin(), first);
  while (!is_alnum(value.back())) value.pop_back();
  return value;
}

}  // namespace agenttier::api::names
