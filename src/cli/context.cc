#include "cli/context.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstdlib>

namespace agenttier::cli {
namespace json = boost::json;
namespace {

constexpr int kBrokenPipe = 141;  // what a shell reports for a program that SIGPIPE ended

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (wrote < 0) std::_Exit(errno == EPIPE ? kBrokenPipe : 1);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace

void Context::out(std::string_view text) const {
  write_all(STDOUT_FILENO, text);
}
void Context::note(std::string_view text) const {
  write_all(STDERR_FILENO, text);
}

void Context::show_progress(std::string_view text) const {
  if (progress) write_all(STDERR_FILENO, "\r\x1b[K" + std::string(text));
}

void Context::end_progress() const {
  if (progress) write_all(STDERR_FILENO, "\r\x1b[K");
}

int Context::print(const json::value& value, std::string_view text) const {
  switch (format) {
    case Format::kText:
      out(text);
      break;
    case Format::kJson:
      out(format_json(value));
      break;
    case Format::kYaml:
      out(format_yaml(value));
      break;
  }
  return 0;
}

int Context::print_table(const json::value& reply, std::string_view key,
                         const std::vector<Column>& columns) const {
  const json::value* list = reply.is_object() ? reply.as_object().if_contains(key) : nullptr;
  const json::array rows = list != nullptr && list->is_array() ? list->as_array() : json::array();
  return print(json::value(rows), format == Format::kText ? format_table(rows, columns) : "");
}

}  // namespace agenttier::cli
