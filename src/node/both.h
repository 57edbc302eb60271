#pragma once
// Runs two tasks at once and gives both results. When the caller is cancelled both are, and both
// are awaited to their ends.

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <utility>

#include "async/time_limit.h"

namespace agenttier::node {

template <class A, class B>
async::Task<std::pair<A, B>> both(async::Task<A> first, async::Task<B> second) {
  using boost::asio::experimental::awaitable_operators::operator&&;
  auto results = co_await (async::detail::quiet<A>(std::move(first)) &&
                           async::detail::quiet<B>(std::move(second)));
  co_return std::pair<A, B>(*std::get<0>(std::move(results)), *std::get<1>(std::move(results)));
}

}  // namespace agenttier::node
