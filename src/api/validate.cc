#include "api/validate.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/bytes.h"
#include "base/time_format.h"

#include <fmt/format.h>

namespace agenttier::api {
namespace {

using base::Error;
using base::Status;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alnum(char c) {
  return is_lower(c) || is_upper(c) || is_digit(c);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShownMax = 80;
  return fmt::format("'{}{}'", base::to_valid_utf8(text.substr(0, kShownMax)),
                     text.size() > kShownMax ? "..." : "");
}

bool is_label(std::string_view text) {
  const auto ends = [](char c) { return is_lower(c) || is_digit(c); };
  return !text.empty() && ends(text.front()) && ends(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return ends(c) || c == '-'; });
}

bool is_subdomain(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// The name part of a label key, and a label value.
bool is_qualified_name(std::string_view text) {
  return !text.empty() && text.size() <= kDnsLabelMax && is_alnum(text.front()) &&
         is_alnum(text.back()) && std::ranges::all_of(text, [](char c) {
           return is_alnum(c) || c == '-' || c == '_' || c == '.';
         });
}

Error bad_cidr(std::string_view text, std::string_view why) {
  return base::invalid(
      fmt::format("{} is not a network: {}; write for example 10.0.0.0/8", quoted(text), why));
}

bool host_bits_are_zero(const std::array<unsigned char, 16>& bytes, int prefix, int bits) {
  for (int bit = prefix; bit < bits; ++bit) {
    if ((bytes[static_cast<std::size_t>(bit / 8)] >> (7 - bit % 8)) & 1) return false;
  }
  return true;
}

}  // namespace

Status check_dns_label(std::string_view text) {
  if (text.empty()) return base::invalid("must not be empty");
  if (text.size() > kDnsLabelMax) {
    return base::invalid(
        fmt::format("must have at most {} characters, has {}", kDnsLabelMax, text.size()));
  }
  if (is_label(text)) return {};
  return base::invalid(
      fmt::format("{} must consist of lower-case letters, digits and '-', and start and end with a "
                  "letter or digit, for example my-sandbox-1",
                  quoted(text)));
}

Status check_dns_subdomain(std::string_view text) {
  if (text.empty()) return base::invalid("must not be empty");
  if (text.size() > kDnsSubdomainMax) {
    return base::invalid(
        fmt::format("must have at most {} characters, has {}", kDnsSubdomainMax, text.size()));
  }
  if (is_subdomain(text)) return {};
  return base::invalid(
      fmt::format("{} must consist of lower-case letters, digits, '-' and '.', and start and end "
                  "with a letter or digit, for example my-template",
                  quoted(text)));
}

Status check_env_name(std::string_view text) {
  constexpr std::size_t kEnvNameMax = 1024;
  if (text.empty()) return base::invalid("the name of a variable must not be empty");
  if (text.size() > kEnvNameMax) {
    return base::invalid(
        fmt::format("the name of a variable must have at most {} characters", kEnvNameMax));
  }
  if (!is_digit(text.front()) &&
      std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == '_'; })) {
    return {};
  }
  return base::invalid(
      fmt::format("{} must consist of letters, digits and '_', and not start with a digit, for "
                  "example MY_VARIABLE",
                  quoted(text)));
}

Status check_label_key(std::string_view text) {
  std::string_view name = text;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (prefix.size() > kDnsSubdomainMax || !is_subdomain(prefix)) {
      return base::invalid(
          fmt::format("{}: the part before '/' must be a DNS name, for example "
                      "example.com/team",
                      quoted(text)));
    }
  }
  if (is_qualified_name(name)) return {};
  return base::invalid(
      fmt::format("{} must have a name of at most {} letters, digits, '-', '_' and '.', with a "
                  "letter or digit at both ends",
                  quoted(text), kDnsLabelMax));
}

Status check_label_value(std::string_view text) {
  if (text.empty() || is_qualified_name(text)) return {};
  return base::invalid(fmt::format(
      "{} must be empty or at most {} letters, digits, '-', '_' and '.', with a letter or digit at "
      "both ends",
      quoted(text), kDnsLabelMax));
}

Status check_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos)
    return bad_cidr(text, "'/' and the length of the prefix are missing");
  const std::string address(text.substr(0, slash));
  const std::string_view length = text.substr(slash + 1);
  std::array<unsigned char, 16> bytes{};
  int bits = 0;
  if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) {
    bits = 32;
  } else if (inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) {
    bits = 128;
  } else {
    return bad_cidr(text, "its address is no IPv4 or IPv6 address");
  }
  int prefix = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), prefix);
  if (length.empty() || !is_digit(length[0]) || error != std::errc() ||
      end != length.data() + length.size() || prefix > bits) {
    return bad_cidr(text, fmt::format("the length of the prefix must be from 0 to {}", bits));
  }
  if (address.find('\0') != std::string::npos) return bad_cidr(text, "it contains a NUL");
  if (!host_bits_are_zero(bytes, prefix, bits)) {
    return bad_cidr(text, fmt::format("bits after the first {} must be zero", prefix));
  }
  return {};
}

Status check_port(std::int64_t port) {
  constexpr std::int64_t kPortMax = 65535;
  if (port >= 1 && port <= kPortMax) return {};
  return base::invalid(fmt::format("must be from 1 to {}, is {}", kPortMax, port));
}

Status check_positive_duration(std::string_view text) {
  AT_TRY(const auto duration, base::parse_duration(text));
  if (duration.count() > 0) return {};
  return base::invalid(fmt::format("{} must be more than zero, for example 30m", quoted(text)));
}

Status check_absolute_path(std::string_view text) {
  if (text.empty() || text[0] != '/') {
    return base::invalid(
        fmt::format("{} must be an absolute path, for example /workspace/data", quoted(text)));
  }
  if (text.find('\0') != std::string_view::npos) return base::invalid("must not contain a NUL");
  std::string_view rest = text;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    if (rest.substr(0, slash) == "..") {
      return base::invalid(fmt::format("{} must not contain '..'", quoted(text)));
    }
    rest.remove_prefix(slash);
  }
  return {};
}

}  // namespace agenttier::api
