#include "http/sse.h"

#include <algorithm>
#include <utility>

namespace agenttier::http {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string one_line(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == '\0'; });
  return text;
}

void append_data(std::string& text, std::string_view data) {
  while (true) {
    const auto end = data.find_first_of("\r\n");
    text.append("data: ").append(data.substr(0, end)).append("\n");
    if (end == std::string_view::npos) return;
    const bool is_pair = data[end] == '\r' && end + 1 < data.size() && data[end + 1] == '\n';
    data.remove_prefix(end + (is_pair ? 2 : 1));
  }
}

void append_escape(std::string& text, unsigned code) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  text += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[(code >> shift) & 15];
}

// A UTF-8 sequence at the front that some reader takes for a line end, and its code point.
struct LineEnd {
  std::size_t size = 0;
  unsigned code = 0;
};

LineEnd line_end_at(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text.front());
  if (byte < 0x20 || byte == 0x7f) return {1, byte};
  if (text.starts_with("\xC2\x85")) return {2, 0x85};
  if (text.starts_with("\xE2\x80\xA8")) return {3, 0x2028};
  if (text.starts_with("\xE2\x80\xA9")) return {3, 0x2029};
  return {};
}

}  // namespace

std::string format_sse(const SseEvent& event) {
  std::string text;
  text.reserve(event.data.size() + event.event.size() + event.id.size() + 32);
  if (!event.id.empty()) text.append("id: ").append(one_line(event.id)).append("\n");
  if (!event.event.empty()) text.append("event: ").append(one_line(event.event)).append("\n");
  append_data(text, event.data);
  return text.append("\n");
}

std::string sse_safe_json(std::string_view json_text) {
  std::string safe;
  safe.reserve(json_text.size() + 16);
  bool in_string = false;
  bool escaped = false;
  while (!json_text.empty()) {
    const LineEnd end = line_end_at(json_text);
    if (end.size > 0) {
      // Between values only white space can stand, where an escape would be an error.
      if (in_string) {
        append_escape(safe, end.code);
      } else {
        safe += ' ';
      }
      json_text.remove_prefix(end.size);
      continue;
    }
    const char c = json_text.front();
    if (c == '"' && !escaped) in_string = !in_string;
    escaped = in_string && c == '\\' && !escaped;
    safe += c;
    json_text.remove_prefix(1);
  }
  return safe;
}

base::Result<std::vector<SseEvent>> SseParser::feed(std::string_view bytes) {
  std::vector<SseEvent> events;
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const auto end = bytes.find_first_of("\r\n");
    line_.append(bytes.substr(0, end));
    if (line_.size() + event_.data.size() > event_bytes_max_) {
      return base::invalid("event stream: an event is larger than the limit of " +
                           std::to_string(event_bytes_max_) + " bytes");
    }
    if (end == std::string_view::npos) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line(events);
  }
  return events;
}

void SseParser::end_line(std::vector<SseEvent>& events) {
  const std::string owned = std::exchange(line_, std::string());
  std::string_view line = owned;
  if (std::exchange(first_line_, false) && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (line.empty()) {
    if (has_data_) {
      event_.id = last_id_;
      events.push_back(std::move(event_));
    }
    event_ = SseEvent();
    has_data_ = false;
    return;
  }
  const auto colon = line.find(':');
  if (colon == 0) return;
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  set_field(line.substr(0, colon), value);
}

void SseParser::set_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data.append(value);
  } else if (name == "event") {
    event_.event = value;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    last_id_ = value;
  }
}

}  // namespace agenttier::http
