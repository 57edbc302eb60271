#pragma once
// Keeps the idle connections of a client, per authority, newest first, within limits.
//
// A kept connection that ends, or on which something comes unasked, is closed at once.

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "async/task.h"
#include "http/link.h"

namespace agenttier::http {

class ConnectionPool {
 public:
  struct Limits {
    std::chrono::milliseconds idle_time_max;
    std::size_t idle_per_authority_max;
    std::size_t idle_total_max;
  };

  ConnectionPool(async::Executor executor, Limits limits);
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  // The newest idle connection, or null.
  std::shared_ptr<Link> take(const std::string& authority);
  void put(const std::string& authority, std::shared_ptr<Link> link);
  void forget(const std::string& authority);
  void clear();
  std::size_t size() const { return by_age_.size(); }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Idle {
    std::string authority;
    std::shared_ptr<Link> link;
    Time expires;
  };
  using Entry = std::list<Idle>::iterator;

  // Takes the entry out; the link is quiet afterwards.
  std::shared_ptr<Link> remove(Entry entry);
  void drop(Entry entry);
  void sweep_later();
  void sweep();

  Limits limits_;
  std::list<Idle> by_age_;                                          // oldest first
  std::unordered_map<std::string, std::list<Entry>> by_authority_;  // oldest first
  boost::asio::steady_timer timer_;
  std::shared_ptr<bool> sweeping_ = std::make_shared<bool>(false);  // whether the timer waits
};

}  // namespace agenttier::http
