#include "observe/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "base/bytes.h"

namespace agenttier::observe {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("agenttier",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (char c : base::is_valid_utf8(text) ? std::string(text) : base::to_valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

struct AppendValue {
  std::string& out;
  void operator()(const std::string& text) const { append_json_string(out, text); }
  void operator()(std::int64_t number) const { out += std::to_string(number); }
  void operator()(double number) const { out += fmt::format("{:.6g}", number); }
  void operator()(bool flag) const { out += flag ? "true" : "false"; }
};

void write(spdlog::level::level_enum level, std::string_view word, std::string_view message,
           std::initializer_list<Field> fields) {
  if (!logger().should_log(level)) return;
  const auto now = std::chrono::system_clock::now();
  const auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  std::string line = fmt::format("{{\"ts\":{}.{:03d},\"level\":\"{}\",\"msg\":", millis / 1000,
                                 millis % 1000, word);
  append_json_string(line, message);
  for (const Field& field : fields) {
    line += ',';
    append_json_string(line, field.name);
    line += ':';
    std::visit(AppendValue{line}, field.value);
  }
  line += '}';
  logger().log(level, "{}", line);
}

}  // namespace

void set_log_level(Level level) {
  switch (level) {
    case Level::kDebug:
      logger().set_level(spdlog::level::debug);
      break;
    case Level::kInfo:
      logger().set_level(spdlog::level::info);
      break;
    case Level::kWarning:
      logger().set_level(spdlog::level::warn);
      break;
    case Level::kError:
      logger().set_level(spdlog::level::err);
      break;
    case Level::kOff:
      logger().set_level(spdlog::level::off);
      break;
  }
}

void log_debug(std::string_view message, std::initializer_list<Field> fields) {
  write(spdlog::level::debug, "debug", message, fields);
}
void log_info(std::string_view message, std::initializer_list<Field> fields) {
  write(spdlog::level::info, "info", message, fields);
}
void log_warning(std::string_view message, std::initializer_list<Field> fields) {
  write(spdlog::level::warn, "warning", message, fields);
}
void log_error(std::string_view message, std::initializer_list<Field> fields) {
  write(spdlog::level::err, "error", message, fields);
}

}  // namespace agenttier::observe
