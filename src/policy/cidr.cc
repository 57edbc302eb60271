#include "policy/cidr.h"

#include <arpa/inet.h>

#include <charconv>

#include "api/validate.h"

namespace agenttier::policy {
namespace {

bool same_prefix(const Cidr& left, const Cidr& right, int bits) {
  const int whole = bits / 8;
  for (int i = 0; i < whole; ++i) {
    if (left.address[i] != right.address[i]) return false;
  }
  const int rest = bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return (left.address[whole] & mask) == (right.address[whole] & mask);
}

}  // namespace

bool Cidr::contains(const Cidr& other) const {
  return family == other.family && prefix <= other.prefix && same_prefix(*this, other, prefix);
}

base::Result<Cidr> parse_cidr(std::string_view text) {
  AT_OK(api::check_cidr(text));
  const std::size_t slash = text.find('/');
  AT_ASSERT(slash != std::string_view::npos);
  const std::string address(text.substr(0, slash));
  const std::string_view bits = text.substr(slash + 1);
  Cidr cidr;
  cidr.family = address.find(':') == std::string::npos ? Cidr::Family::kIpv4 : Cidr::Family::kIpv6;
  const int family = cidr.family == Cidr::Family::kIpv4 ? AF_INET : AF_INET6;
  if (inet_pton(family, address.c_str(), cidr.address.data()) != 1) {
    return base::invalid("\"" + std::string(text) + "\" is no network such as 10.0.0.0/8");
  }
  std::from_chars(bits.data(), bits.data() + bits.size(), cidr.prefix);
  return cidr;
}

std::vector<std::string> inside(const Cidr& network, const std::vector<std::string>& candidates) {
  std::vector<std::string> found;
  for (const std::string& text : candidates) {
    const auto candidate = parse_cidr(text);
    if (candidate && *candidate != network && network.contains(*candidate)) found.push_back(text);
  }
  return found;
}

std::string container_of(const Cidr& network, const std::vector<std::string>& candidates) {
  for (const std::string& text : candidates) {
    const auto candidate = parse_cidr(text);
    if (candidate && candidate->contains(network)) return text;
  }
  return "";
}

}  // namespace agenttier::policy
