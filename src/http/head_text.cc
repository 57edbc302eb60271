#include "http/head_text.h"

#include <algorithm>
#include <charconv>

#include "http/text.h"

namespace agenttier::http {
namespace {

constexpr std::size_t kHeadReserve = 512;

bool is_framing_field(std::string_view name) {
  return equal_without_case(name, "Content-Length") ||
         equal_without_case(name, "Transfer-Encoding") || equal_without_case(name, "Connection") ||
         equal_without_case(name, "Keep-Alive");
}

void append_field(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

void append_framing(std::string& head, const HeadFraming& framing) {
  if (framing.framing == Framing::kChunked) {
    append_field(head, "Transfer-Encoding", "chunked");
  } else if (framing.framing == Framing::kLength) {
    append_field(head, "Content-Length", std::to_string(framing.content_length));
  }
}

void append_safely(std::string& head, std::string_view name, std::string_view value) {
  if (!is_token(name)) return;
  if (is_field_value(value)) {
    append_field(head, name, value);
    return;
  }
  std::string clean(value);
  for (char& c : clean) {
    if (!is_field_value({&c, 1})) c = ' ';
  }
  append_field(head, name, clean);
}

bool is_target(std::string_view target) {
  return !target.empty() && (target.front() == '/' || target == "*") &&
         std::all_of(target.begin(), target.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte > 0x20 && byte != 0x7f;
         });
}

}  // namespace

std::string_view status_text(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 207:
      return "Multi-Status";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 422:
      return "Unprocessable Content";
    case 426:
      return "Upgrade Required";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 507:
      return "Insufficient Storage";
    default:
      return "Status";
  }
}

std::string response_head(int status, const Headers& headers, const HeadFraming& framing,
                          int version) {
  std::string head;
  head.reserve(kHeadReserve);
  head.append("HTTP/1.1 ").append(std::to_string(status)).append(" ");
  head.append(status_text(status)).append("\r\n");
  for (const auto& [name, value] : headers.fields()) {
    if (!is_framing_field(name)) append_safely(head, name, value);
  }
  append_framing(head, framing);
  if (framing.persistence == Persistence::kClose) {
    append_field(head, "Connection", "close");
  } else if (version == 10) {
    append_field(head, "Connection", "keep-alive");
  }
  return head.append("\r\n");
}

base::Result<std::string> request_head(const Request& request, const HeadFraming& framing,
                                       const std::string& user_agent) {
  if (!is_token(request.method)) return base::invalid("method: must be a token such as GET");
  if (!is_target(request.target)) {
    return base::invalid("request target: must begin with '/' and hold no spaces (percent-encode)");
  }
  std::string head;
  head.reserve(kHeadReserve);
  head.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  if (!request.headers.find("Host")) append_field(head, "Host", request.authority);
  if (!request.headers.find("User-Agent")) append_field(head, "User-Agent", user_agent);
  for (const auto& [name, value] : request.headers.fields()) {
    if (is_framing_field(name) || equal_without_case(name, "Expect")) continue;
    if (!is_token(name) || !is_field_value(value)) {
      return base::invalid("header '" + name.substr(0, 64) +
                           "': the name must be a token and the value one line of text");
    }
    append_field(head, name, value);
  }
  append_framing(head, framing);
  return head.append("\r\n");
}

std::string chunk_header(std::size_t size) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, size, 16).ptr;
  return std::string(digits, end).append("\r\n");
}

}  // namespace agenttier::http
