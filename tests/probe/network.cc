// Addresses that a sandbox must not reach, and packets that it must not send.

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "probe.h"

namespace probe {
namespace {

constexpr int kAnswerMillis = 1500;

sockaddr_in address_of(const std::string& text, const std::string& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port.c_str())));
  inet_pton(AF_INET, text.c_str(), &address.sin_addr);
  return address;
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Outcome wait_connected(int fd) {
  pollfd writable{.fd = fd, .events = POLLOUT, .revents = 0};
  if (poll(&writable, 1, kAnswerMillis) == 0) return refused("no answer");
  int failure = 0;
  socklen_t size = sizeof failure;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
  return failure == 0 ? done() : refused(errno_name(failure));
}

// tcp ADDRESS PORT
Outcome connect_tcp(Arguments arguments) {
  const sockaddr_in to = address_of(arguments[0], arguments[1]);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return refused(errno_name(errno));
  if (connect(fd, generic(to), sizeof to) < 0 && errno != EINPROGRESS) {
    return refused(errno_name(errno));
  }
  return wait_connected(fd);
}

// Whether a datagram comes back; the far side answers each.
Outcome exchange_udp(Arguments arguments) {
  const sockaddr_in to = address_of(arguments[0], arguments[1]);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
  if (sendto(fd, "probe", 5, 0, generic(to), sizeof to) < 0) return refused(errno_name(errno));
  pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
  if (poll(&readable, 1, kAnswerMillis) == 0) return refused("no answer");
  char buffer[64];
  return outcome_of(recv(fd, buffer, sizeof buffer, 0));
}

// FROM TO PORT TEXT: a datagram from an address that need not be this sandbox's.
Outcome send_from_foreign_address(Arguments arguments) {
  const sockaddr_in from = address_of(arguments[0], "0");
  const sockaddr_in to = address_of(arguments[1], arguments[2]);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof on) < 0) {
    // Without the right to, a foreign address may still be bound, but not sent from.
    setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof on);
  }
  if (bind(fd, generic(from), sizeof from) < 0) return refused("bind: " + errno_name(errno));
  const std::string& text = arguments[3];
  return outcome_of(sendto(fd, text.data(), text.size(), 0, generic(to), sizeof to));
}

struct AddressRequest {
  nlmsghdr header;
  ifaddrmsg body;
  rtattr attribute;
  in_addr address;
};

// Gives the interface a second address.
Outcome add_address(Arguments arguments) {
  AddressRequest request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_NEWADDR;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
  request.body.ifa_family = AF_INET;
  request.body.ifa_prefixlen = 32;
  request.body.ifa_index = if_nametoindex(arguments[1].c_str());
  request.attribute.rta_len = RTA_LENGTH(sizeof(in_addr));
  request.attribute.rta_type = IFA_LOCAL;
  inet_pton(AF_INET, arguments[0].c_str(), &request.address);
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return refused("socket: " + errno_name(errno));
  if (send(fd, &request, sizeof request, 0) < 0) return refused("send: " + errno_name(errno));
  char buffer[512];
  if (recv(fd, buffer, sizeof buffer, 0) < 0) return refused("receive: " + errno_name(errno));
  nlmsghdr answer{};
  nlmsgerr verdict{};
  std::memcpy(&answer, buffer, sizeof answer);
  std::memcpy(&verdict, buffer + sizeof answer, sizeof verdict);
  if (answer.nlmsg_type != NLMSG_ERROR) return refused("no verdict");
  return verdict.error == 0 ? done() : refused(errno_name(-verdict.error));
}

// The hosts of the same link, by the address family without rules of its own.
Outcome reach_link_by_ipv6(Arguments) {
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return refused(errno_name(errno));
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(9);
  inet_pton(AF_INET6, "ff02::1", &to.sin6_addr);
  for (unsigned index = 1; index < 64; ++index) {
    char name[IF_NAMESIZE];
    if (if_indextoname(index, name) == nullptr || std::strcmp(name, "lo") == 0) continue;
    to.sin6_scope_id = index;
    if (sendto(fd, "x", 1, 0, reinterpret_cast<sockaddr*>(&to), sizeof to) >= 0) return done(name);
  }
  return refused(errno_name(errno));
}

}  // namespace

std::vector<Entry> network_entries() {
  return {{"connect_tcp", connect_tcp},
          {"exchange_udp", exchange_udp},
          {"send_from_foreign_address", send_from_foreign_address},
          {"add_address", add_address},
          {"reach_link_by_ipv6", reach_link_by_ipv6}};
}

}  // namespace probe
