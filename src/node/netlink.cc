#include "node/netlink.h"

#include <net/if.h>
#include <netlink/addr.h>
#include <netlink/cache.h>
#include <netlink/errno.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <netlink/socket.h>

#include <cerrno>
#include <utility>

namespace agenttier::node {
namespace {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

using Link = std::unique_ptr<rtnl_link, Freer<rtnl_link_put>>;
using Address = std::unique_ptr<nl_addr, Freer<nl_addr_put>>;
using LinkAddress = std::unique_ptr<rtnl_addr, Freer<rtnl_addr_put>>;
using RouteObject = std::unique_ptr<rtnl_route, Freer<rtnl_route_put>>;
using Cache = std::unique_ptr<nl_cache, Freer<nl_cache_free>>;

base::Error failure(const std::string& step, int code) {
  const std::string text = step + ": " + nl_geterror(code);
  switch (-code) {
    case NLE_EXIST:
      return base::exists(text);
    case NLE_OBJ_NOTFOUND:
    case NLE_NODEV:
      return base::not_found(text);
    case NLE_PERM:
      return base::denied(text);
    default:
      return base::internal(text);
  }
}

base::Result<Address> make_address(const std::string& text, int prefix_length) {
  nl_addr* raw = nullptr;
  if (const int code = nl_addr_parse(text.c_str(), AF_INET, &raw); code < 0) {
    return failure("read address " + text, code);
  }
  nl_addr_set_prefixlen(raw, prefix_length);
  return Address(raw);
}

}  // namespace

void Netlink::Close::operator()(nl_sock* socket) const {
  nl_socket_free(socket);
}

base::Result<Netlink> Netlink::open() {
  nl_sock* socket = nl_socket_alloc();
  if (socket == nullptr) return base::internal("open netlink: out of memory");
  Netlink made(socket);
  if (const int code = nl_connect(socket, NETLINK_ROUTE); code < 0) {
    return failure("open netlink", code);
  }
  return made;
}

base::Result<int> Netlink::index_of(const std::string& device) {
  rtnl_link* raw = nullptr;
  if (const int code = rtnl_link_get_kernel(socket_.get(), 0, device.c_str(), &raw); code < 0) {
    return failure("find interface " + device, code);
  }
  const Link link(raw);
  return rtnl_link_get_ifindex(link.get());
}

base::Status Netlink::create_veth(const VethPair& pair) {
  const Link link(rtnl_link_veth_alloc());
  if (!link) return base::internal("create veth " + pair.name + ": out of memory");
  rtnl_link_set_name(link.get(), pair.name.c_str());
  const Link peer(rtnl_link_veth_get_peer(link.get()));
  rtnl_link_set_name(peer.get(), pair.peer_name.c_str());
  rtnl_link_set_ns_fd(peer.get(), pair.peer_netns);
  const int code = rtnl_link_add(socket_.get(), link.get(), NLM_F_CREATE | NLM_F_EXCL);
  if (code < 0) return failure("create veth " + pair.name, code);
  return {};
}

base::Status Netlink::bring_up(const std::string& device) {
  AT_TRY(const int index, index_of(device));
  const Link link(rtnl_link_alloc()), change(rtnl_link_alloc());
  if (!link || !change) return base::internal("bring up " + device + ": out of memory");
  rtnl_link_set_ifindex(link.get(), index);
  rtnl_link_set_flags(change.get(), IFF_UP);
  const int code = rtnl_link_change(socket_.get(), link.get(), change.get(), 0);
  if (code < 0) return failure("bring up " + device, code);
  return {};
}

base::Status Netlink::add_address(const std::string& device, const InterfaceAddress& address) {
  AT_TRY(const int index, index_of(device));
  AT_TRY(const Address local, make_address(address.address, address.prefix_length));
  const LinkAddress entry(rtnl_addr_alloc());
  if (!entry) return base::internal("add address to " + device + ": out of memory");
  rtnl_addr_set_ifindex(entry.get(), index);
  rtnl_addr_set_local(entry.get(), local.get());
  const int code = rtnl_addr_add(socket_.get(), entry.get(), 0);
  if (code < 0) return failure("add address " + address.address + " to " + device, code);
  return {};
}

base::Status Netlink::add_route(const Route& route) {
  const std::string step = "add route to " + route.destination;
  AT_TRY(const int index, index_of(route.device));
  AT_TRY(const Address destination, make_address(route.destination, route.prefix_length));
  const RouteObject entry(rtnl_route_alloc());
  rtnl_nexthop* hop = rtnl_route_nh_alloc();
  if (!entry || hop == nullptr) return base::internal(step + ": out of memory");
  rtnl_route_set_family(entry.get(), AF_INET);
  rtnl_route_set_dst(entry.get(), destination.get());
  rtnl_route_nh_set_ifindex(hop, index);
  if (!route.gateway.empty()) {
    auto gateway = make_address(route.gateway, 32);
    if (gateway) rtnl_route_nh_set_gateway(hop, gateway->get());
  }
  rtnl_route_add_nexthop(entry.get(), hop);
  rtnl_route_set_scope(entry.get(), route.gateway.empty() ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE);
  if (!route.preferred_source.empty()) {
    AT_TRY(const Address source, make_address(route.preferred_source, 32));
    rtnl_route_set_pref_src(entry.get(), source.get());
  }
  const int code = rtnl_route_add(socket_.get(), entry.get(), NLM_F_CREATE | NLM_F_REPLACE);
  if (code < 0) return failure(step, code);
  return {};
}

base::Status Netlink::delete_interface(const std::string& device) {
  const Link link(rtnl_link_alloc());
  if (!link) return base::internal("delete " + device + ": out of memory");
  rtnl_link_set_name(link.get(), device.c_str());
  const int code = rtnl_link_delete(socket_.get(), link.get());
  if (code == -NLE_OBJ_NOTFOUND || code == -NLE_NODEV) return {};
  if (code < 0) return failure("delete interface " + device, code);
  return {};
}

base::Result<std::vector<std::string>> Netlink::interfaces_with_prefix(std::string_view prefix) {
  nl_cache* raw = nullptr;
  if (const int code = rtnl_link_alloc_cache(socket_.get(), AF_UNSPEC, &raw); code < 0) {
    return failure("list interfaces", code);
  }
  const Cache cache(raw);
  std::vector<std::string> names;
  for (nl_object* it = nl_cache_get_first(raw); it != nullptr; it = nl_cache_get_next(it)) {
    const char* name = rtnl_link_get_name(reinterpret_cast<rtnl_link*>(it));
    if (name != nullptr && std::string_view(name).starts_with(prefix)) names.emplace_back(name);
  }
  return names;
}

base::Result<std::vector<InterfaceAddress>> Netlink::addresses() {
  nl_cache* raw = nullptr;
  if (const int code = rtnl_addr_alloc_cache(socket_.get(), &raw); code < 0) {
    return failure("list addresses", code);
  }
  const Cache cache(raw);
  std::vector<InterfaceAddress> found;
  for (nl_object* it = nl_cache_get_first(raw); it != nullptr; it = nl_cache_get_next(it)) {
    nl_addr* local = rtnl_addr_get_local(reinterpret_cast<rtnl_addr*>(it));
    if (local == nullptr || nl_addr_get_family(local) != AF_INET) continue;
    char text[INET_ADDRSTRLEN + 4] = {};
    nl_addr2str(local, text, sizeof text);
    std::string address(text);
    const int length = static_cast<int>(nl_addr_get_prefixlen(local));
    if (const auto slash = address.find('/'); slash != std::string::npos) address.resize(slash);
    found.push_back({std::move(address), length});
  }
  return found;
}

}  // namespace agenttier::node
