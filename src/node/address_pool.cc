#include "node/address_pool.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace agenttier::node {
namespace {

std::uint32_t mask(int prefix_length) {
  return prefix_length == 0 ? 0U : ~std::uint32_t{0} << (32 - prefix_length);
}

constexpr std::uint32_t kReservedAddresses = 3;  // network, gateway, broadcast

}  // namespace

base::Result<std::uint32_t> parse_ipv4(std::string_view text) {
  in_addr address{};
  if (inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) {
    return base::invalid("'" + std::string(text) + "' is not an IPv4 address");
  }
  return ntohl(address.s_addr);
}

std::string format_ipv4(std::uint32_t address) {
  return std::to_string(address >> 24) + "." + std::to_string(address >> 16 & 255U) + "." +
         std::to_string(address >> 8 & 255U) + "." + std::to_string(address & 255U);
}

base::Result<Subnet> Subnet::parse(std::string_view cidr) {
  const auto slash = cidr.find('/');
  const std::string shown(cidr);
  if (slash == std::string_view::npos) {
    return base::invalid("'" + shown + "' is not a network: write for example 10.213.0.0/16");
  }
  AT_TRY(const std::uint32_t address, parse_ipv4(cidr.substr(0, slash)));
  const std::string_view digits = cidr.substr(slash + 1);
  int length = -1;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || length < 0 ||
      length > 32) {
    return base::invalid("'" + shown + "' has no prefix length between 0 and 32");
  }
  return Subnet{address & mask(length), length};
}

std::string Subnet::cidr() const {
  return format_ipv4(base) + "/" + std::to_string(prefix_length);
}

bool Subnet::overlaps(const Subnet& other) const {
  const std::uint32_t common = mask(std::min(prefix_length, other.prefix_length));
  return (base & common) == (other.base & common);
}

AddressPool::AddressPool(Subnet subnet)
    : subnet_(subnet),
      slots_max_(subnet.prefix_length > 29 ? 0U
                                           : ~mask(subnet.prefix_length) + 1 - kReservedAddresses) {
}

base::Result<std::uint32_t> AddressPool::take() {
  while (next_ < slots_max_) {
    const std::uint32_t slot = next_++;
    if (used_.insert(slot).second) return slot;
  }
  while (!released_.empty()) {
    const std::uint32_t slot = released_.front();
    released_.pop_front();
    if (used_.insert(slot).second) return slot;
  }
  return base::exhausted("network " + subnet_.cidr() + ": all " + std::to_string(slots_max_) +
                         " addresses are in use");
}

base::Status AddressPool::take_slot(std::uint32_t slot) {
  if (slot >= slots_max_)
    return base::invalid("slot " + std::to_string(slot) + " is outside " + subnet_.cidr());
  if (!used_.insert(slot).second) return base::exists("address " + address(slot) + " is in use");
  return {};
}

void AddressPool::release(std::uint32_t slot) {
  if (used_.erase(slot) != 0) released_.push_back(slot);
}

std::string AddressPool::address(std::uint32_t slot) const {
  return format_ipv4(subnet_.base + 2 + slot);
}
std::string AddressPool::gateway() const {
  return format_ipv4(subnet_.base + 1);
}

}  // namespace agenttier::node
