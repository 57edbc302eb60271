#pragma once
// Calls the REST API and waits for the answer: the commands are plain functions.
//
// An answer that is not 2xx becomes the Error that the server described, in its own words; no
// answer becomes one that says where it was tried and what to do.
//
// Example:
//   AT_TRY(json::value sandbox, context.api.get("/sandboxes/demo"));

#include <boost/asio/io_context.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/config.h"
#include "http/client.h"
#include "http/message.h"

namespace agenttier::cli {

class ApiClient {
 public:
  ApiClient(boost::asio::io_context& loop, Config config);
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  base::Result<boost::json::value> get(std::string path);
  base::Result<boost::json::value> send(std::string method, std::string path,
                                        std::optional<boost::json::value> body = std::nullopt);
  // For bodies that are not JSON. The response is 2xx; its body may be read with read().
  base::Result<http::Response> raw(http::Request request);
  // The same inside a coroutine.
  async::Task<base::Result<http::Response>> call(http::Request request);
  base::Result<std::string> read(http::BodyReader& body);

  // A request to `path` below /api/v1 with the caller's credential.
  http::Request request(std::string method, const std::string& path) const;
  const Config& config() const { return config_; }
  boost::asio::io_context& loop() { return loop_; }

  // Runs one task to its end on the loop.
  template <class T>
  T run(async::Task<T> task);

 private:
  boost::asio::io_context& loop_;
  Config config_;
  std::string authority_;
  std::unique_ptr<http::NetworkClient> client_;
};

// A path segment or query value, percent-encoded.
std::string quoted(const std::string& text);

}  // namespace agenttier::cli

#include "cli/api_client_run.h"
