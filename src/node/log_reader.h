#pragma once
// Reads a container's log for people: its last lines, from a time on, followed as it grows.
//
// The lines come without the file's marks, in the order of writing, old file first; `stream` bodies
// hold no more than a piece in memory.
//
// Example:
//   LogQuery query{.tail_lines = 100, .follow = LogFollow::kFollow};
//   response.body = http::Body(open_log(blocking, base, live, query));

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "async/blocking_pool.h"
#include "http/message.h"
#include "node/container_log.h"

namespace agenttier::node {

enum class LogFollow : std::uint8_t { kOnce, kFollow };
enum class LogTimes : std::uint8_t { kOmit, kShow };

struct LogQuery {
  std::optional<std::uint64_t> tail_lines;
  std::optional<std::uint64_t> limit_bytes;
  std::optional<base::WallTime> since;
  LogFollow follow = LogFollow::kOnce;
  LogTimes times = LogTimes::kOmit;
};

// `base`: path of the log without ".log". `live`: the log being written, to follow it; or null.
std::unique_ptr<http::BodyReader> open_log(async::BlockingPool& blocking, std::string base,
                                           std::shared_ptr<ContainerLog> live, LogQuery query);

}  // namespace agenttier::node
