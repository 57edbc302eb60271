#pragma once
// Rules for what callers write, each with a sentence that says what would be right.
//
// The messages name no field; the caller puts the field's path before them
// (base::invalid_field, or Error::context).
//
// Example:
//   if (auto status = check_sandbox_name(name); !status)
//     return base::invalid_field("name", std::move(status).error().message);

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace agenttier::api {

inline constexpr std::size_t kDnsLabelMax = 63;
inline constexpr std::size_t kDnsSubdomainMax = 253;

// Lower-case letters, digits and '-', starting and ending with a letter or digit, at most 63.
base::Status check_dns_label(std::string_view text);
// Labels joined by dots, at most 253.
base::Status check_dns_subdomain(std::string_view text);
// The name of a sandbox: a DNS label, since it is also a label's value and a host name.
inline base::Status check_sandbox_name(std::string_view text) {
  return check_dns_label(text);
}

// The name of an environment variable: [A-Za-z_][A-Za-z0-9_]*, at most 1024.
base::Status check_env_name(std::string_view text);
// "prefix/name" or "name", as label and annotation keys are.
base::Status check_label_key(std::string_view text);
// Empty, or at most 63 letters, digits, '-', '_' and '.', with letter or digit at both ends.
base::Status check_label_value(std::string_view text);

// An IPv4 or IPv6 network such as 10.0.0.0/8 whose host bits are zero.
base::Status check_cidr(std::string_view text);
// 1 to 65535.
base::Status check_port(std::int64_t port);
// A duration in Go syntax that is more than zero.
base::Status check_positive_duration(std::string_view text);
// An absolute path without NUL and without ".." steps.
base::Status check_absolute_path(std::string_view text);

}  // namespace agenttier::api
