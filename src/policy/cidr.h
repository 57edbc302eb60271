#pragma once
// A network in CIDR notation as a value: which networks lie in which.
//
// Example:
//   AT_TRY(Cidr wide, parse_cidr("0.0.0.0/0"));
//   AT_TRY(Cidr metadata, parse_cidr("169.254.169.254/32"));
//   wide.contains(metadata);   // true

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agenttier::policy {

struct Cidr {
  enum class Family : std::uint8_t { kIpv4, kIpv6 };

  Family family = Family::kIpv4;
  std::array<std::uint8_t, 16> address{};  // IPv4 uses the first four
  int prefix = 0;

  // Every address of `other` is one of this network's. Families never contain each other.
  bool contains(const Cidr& other) const;
  bool operator==(const Cidr&) const = default;
};

// Host bits must be zero. kInvalid says what is wrong.
base::Result<Cidr> parse_cidr(std::string_view text);

// Those of `candidates` that lie inside `network` without being it; what does not parse is left
// out.
std::vector<std::string> inside(const Cidr& network, const std::vector<std::string>& candidates);
// The first of `candidates` that contains `network` or is it; empty if none does.
std::string container_of(const Cidr& network, const std::vector<std::string>& candidates);

}  // namespace agenttier::policy
