#pragma once
// An AddressPool numbers the pods of one machine: slot n has the address "base + 2 + n" (base + 1
// is the gateway). Pure bookkeeping; the owner of the state folder persists which pod holds which
// slot.
//
// A released slot is reused last, so that a late packet for an old pod does not reach a new one.
//
// Example:
//   AddressPool pool(Subnet{.base = 0x0AD50000, .prefix_length = 16});
//   AT_TRY(std::uint32_t slot, pool.take());
//   pool.address(slot);  // "10.213.0.2"

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agenttier::node {

struct Subnet {
  std::uint32_t base = 0;  // host byte order
  int prefix_length = 16;

  static base::Result<Subnet> parse(std::string_view cidr);
  std::string cidr() const;
  bool overlaps(const Subnet& other) const;
};

std::string format_ipv4(std::uint32_t address);
base::Result<std::uint32_t> parse_ipv4(std::string_view text);

class AddressPool {
 public:
  explicit AddressPool(Subnet subnet);

  base::Result<std::uint32_t> take();          // kExhausted when all are in use
  base::Status take_slot(std::uint32_t slot);  // kExists when it is in use
  void release(std::uint32_t slot);
  std::string address(std::uint32_t slot) const;
  std::string gateway() const;
  std::size_t used() const { return used_.size(); }

 private:
  Subnet subnet_;
  std::uint32_t slots_max_;
  std::uint32_t next_ = 0;  // slots from here on were never used
  std::deque<std::uint32_t> released_;
  std::set<std::uint32_t> used_;
};

}  // namespace agenttier::node
