#pragma once
// The body of ApiClient::run: drives the loop until one task has ended. Included by api_client.h
// alone.

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

#include "cli/api_client.h"

namespace agenttier::cli {

template <class T>
async::Task<void> keep_result(async::Task<T> task, std::optional<T>* result) {
  result->emplace(co_await std::move(task));
}

template <class T>
T ApiClient::run(async::Task<T> task) {
  std::optional<T> result;
  boost::asio::co_spawn(loop_, keep_result(std::move(task), &result),
                        [](const std::exception_ptr&) {});
  while (!result && loop_.run_one() > 0) {
  }
  loop_.restart();
  if (!result) return T(base::internal("the request ended without an answer"));
  return std::move(*result);
}

}  // namespace agenttier::cli
