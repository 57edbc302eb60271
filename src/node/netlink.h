#pragma once
// Network interfaces, addresses and routes of one network namespace, through rtnetlink.
//
// A Netlink belongs to the namespace of the thread that opened it, whatever that thread does later.
// Calls block for well under a millisecond; use them on a BlockingPool thread. One thread at a
// time.
//
// Example:
//   AT_TRY(Netlink host, Netlink::open());
//   AT_OK(host.create_veth({.name = "at1", .peer_name = "eth0", .peer_netns = fd}));
//   AT_OK(host.add_address("at1", {.address = "10.213.0.1", .prefix_length = 32}));

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct nl_sock;

namespace agenttier::node {

struct InterfaceAddress {
  std::string address;  // IPv4, dotted
  int prefix_length = 32;
};

struct VethPair {
  std::string name;       // stays in this namespace; at most 15 characters
  std::string peer_name;  // in the other one
  int peer_netns;         // open file of the namespace
};

struct Route {
  std::string destination;  // IPv4, dotted; "0.0.0.0" with prefix_length 0 is the default route
  int prefix_length = 32;
  std::string device;
  std::string gateway;           // empty: the destination is on the link
  std::string preferred_source;  // empty: the kernel chooses
};

class Netlink {
 public:
  static base::Result<Netlink> open();

  base::Status create_veth(const VethPair& pair);
  base::Status bring_up(const std::string& device);
  base::Status add_address(const std::string& device, const InterfaceAddress& address);
  base::Status add_route(const Route& route);
  // Succeeds if it is gone already.
  base::Status delete_interface(const std::string& device);
  base::Result<std::vector<std::string>> interfaces_with_prefix(std::string_view prefix);
  // All IPv4 addresses of this namespace, with their prefixes.
  base::Result<std::vector<InterfaceAddress>> addresses();

 private:
  struct Close {
    void operator()(nl_sock* socket) const;
  };
  explicit Netlink(nl_sock* socket) : socket_(socket) {}
  base::Result<int> index_of(const std::string& device);

  std::unique_ptr<nl_sock, Close> socket_;
};

}  // namespace agenttier::node
