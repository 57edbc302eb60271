#include "http/connection_pool.h"

#include <utility>

namespace agenttier::http {

ConnectionPool::ConnectionPool(async::Executor executor, Limits limits)
    : limits_(limits), timer_(std::move(executor)) {}

ConnectionPool::~ConnectionPool() {
  clear();
}

std::shared_ptr<Link> ConnectionPool::take(const std::string& authority) {
  while (true) {
    const auto found = by_authority_.find(authority);
    if (found == by_authority_.end()) return nullptr;
    auto link = remove(found->second.back());
    if (link->is_quiet()) return link;
    link->close();
  }
}

void ConnectionPool::put(const std::string& authority, std::shared_ptr<Link> link) {
  if (link->ended() || !link->data().empty() || limits_.idle_total_max == 0 ||
      limits_.idle_per_authority_max == 0) {
    link->close();
    return;
  }
  const auto same = by_authority_.find(authority);
  if (same != by_authority_.end() && same->second.size() >= limits_.idle_per_authority_max) {
    drop(same->second.front());
  }
  if (by_age_.size() >= limits_.idle_total_max) drop(by_age_.begin());
  const Time expires = std::chrono::steady_clock::now() + limits_.idle_time_max;
  const Entry entry = by_age_.insert(by_age_.end(), Idle{authority, link, expires});
  by_authority_[authority].push_back(entry);
  link->on_end([this, entry] { drop(entry); });
  link->on_data([this, entry] { drop(entry); });
  sweep_later();
}

std::shared_ptr<Link> ConnectionPool::remove(Entry entry) {
  auto link = std::move(entry->link);
  link->on_end(nullptr);
  link->on_data(nullptr);
  const auto group = by_authority_.find(entry->authority);
  group->second.remove(entry);
  if (group->second.empty()) by_authority_.erase(group);
  by_age_.erase(entry);
  return link;
}

void ConnectionPool::drop(Entry entry) {
  remove(entry)->close();
}

void ConnectionPool::forget(const std::string& authority) {
  while (const auto link = take(authority)) link->close();
}

void ConnectionPool::clear() {
  while (!by_age_.empty()) drop(by_age_.begin());
}

void ConnectionPool::sweep_later() {
  if (*sweeping_ || by_age_.empty()) return;
  *sweeping_ = true;
  timer_.expires_at(by_age_.front().expires);
  timer_.async_wait([this, alive = std::weak_ptr(sweeping_)](const auto& error) {
    if (!error && !alive.expired()) sweep();
  });
}

void ConnectionPool::sweep() {
  *sweeping_ = false;
  const Time now = std::chrono::steady_clock::now();
  while (!by_age_.empty() && by_age_.front().expires <= now) drop(by_age_.begin());
  sweep_later();
}

}  // namespace agenttier::http
