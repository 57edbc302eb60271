#pragma once
// Server-sent events: writes them so that no data can end a line or an event early, and parses them
// as they come.
//
// Example:
//   co_await writer.write(format_sse({.event = "output", .data = json_text}));
//   co_await writer.write(std::string(kSseKeepAlive));

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agenttier::http {

struct SseEvent {
  std::string event;  // empty: "message"
  std::string data;
  std::string id;
  bool operator==(const SseEvent&) const = default;
};

inline constexpr std::string_view kSseKeepAlive = ": keep-alive\n\n";
inline constexpr std::string_view kSseContentType = "text/event-stream";

// Line ends in `data` become further data lines, as the format says; those in `event` and `id` are
// dropped. The text is otherwise as given: data that is JSON should pass sse_safe_json first.
std::string format_sse(const SseEvent& event);

// JSON text means the same afterwards, but has no character that any reader takes for a line end:
// control characters, U+007F, U+0085, U+2028 and U+2029 become \u escapes. (They are valid raw
// inside JSON strings, and line splitters such as Python's break on them.)
std::string sse_safe_json(std::string_view json_text);

// Takes bytes as they come and gives the events that are complete. Comments are skipped.
class SseParser {
 public:
  explicit SseParser(std::size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}
  // kInvalid when an event is larger than the limit; the parser is then of no more use.
  base::Result<std::vector<SseEvent>> feed(std::string_view bytes);
  // The id of the newest event, for Last-Event-ID.
  const std::string& last_id() const { return last_id_; }

 private:
  void end_line(std::vector<SseEvent>& events);
  void set_field(std::string_view name, std::string_view value);

  std::size_t event_bytes_max_;
  std::string line_;
  bool after_cr_ = false;
  bool first_line_ = true;
  bool has_data_ = false;
  SseEvent event_;
  std::string last_id_;
};

}  // namespace agenttier::http
