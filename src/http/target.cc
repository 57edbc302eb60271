// Percent-encoding and request targets.

#include "http/message.h"

namespace agenttier::http {
namespace {

// What the '+' of a text means: a space in a query, itself in a path.
enum class Plus { kLiteral, kSpace };

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

base::Result<std::string> decode(std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus == Plus::kSpace) c = ' ';
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
      if (low < 0) {
        return base::invalid(
            "'%' must be followed by two hexadecimal digits (write %25 for a "
            "percent sign)");
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return base::invalid("a NUL byte is not allowed");
    decoded.push_back(c);
  }
  return decoded;
}

std::string encode(std::string_view text, std::string_view keep) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c) || keep.find(c) != std::string_view::npos) {
      encoded.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded.push_back('%');
    encoded.push_back(kDigits[byte >> 4]);
    encoded.push_back(kDigits[byte & 15]);
  }
  return encoded;
}

base::Result<std::string> decode_query(std::string_view text) {
  auto decoded = decode(text, Plus::kSpace);
  if (!decoded) return std::move(decoded).error().context("query");
  return decoded;
}

}  // namespace

base::Result<std::string> percent_decode(std::string_view text) {
  return decode(text, Plus::kLiteral);
}

std::string percent_encode(std::string_view text) {
  return encode(text, "");
}
std::string percent_encode_path(std::string_view path) {
  return encode(path, "/");
}

std::optional<std::string_view> Target::find(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

base::Result<Target> parse_target(std::string_view target) {
  target = target.substr(0, target.find('#'));
  const auto question = target.find('?');
  Target parsed{std::string(target.substr(0, question)), {}};
  if (parsed.path.empty() || parsed.path.front() != '/') {
    return base::invalid("request target: the path must begin with '/'");
  }
  std::string_view rest =
      question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    AT_TRY(std::string key, decode_query(pair.substr(0, equals)));
    std::string value;
    if (equals != std::string_view::npos) {
      AT_TRY(value, decode_query(pair.substr(equals + 1)));
    }
    parsed.query.emplace_back(std::move(key), std::move(value));
  }
  return parsed;
}

}  // namespace agenttier::http
