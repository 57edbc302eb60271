#pragma once
// Structured log lines: a constant message and named fields, one JSON object a line on standard
// error. The message never contains data; secrets are never a field.
//
// Example:
//   observe::log_info("sandbox is running", {{"sandbox", name}, {"ms", elapsed.count()}});

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace agenttier::observe {

struct Field {
  using Value = std::variant<std::string, std::int64_t, double, bool>;
  Field(std::string_view name_in, std::string value_in)
      : name(name_in), value(std::move(value_in)) {}
  Field(std::string_view name_in, std::string_view value_in)
      : name(name_in), value(std::string(value_in)) {}
  Field(std::string_view name_in, const char* value_in)
      : name(name_in), value(std::string(value_in)) {}
  Field(std::string_view name_in, bool value_in) : name(name_in), value(value_in) {}
  Field(std::string_view name_in, double value_in) : name(name_in), value(value_in) {}
  template <class Integer>
    requires std::is_integral_v<Integer>
  Field(std::string_view name_in, Integer value_in)
      : name(name_in), value(static_cast<std::int64_t>(value_in)) {}

  std::string_view name;
  Value value;
};

enum class Level { kDebug, kInfo, kWarning, kError, kOff };

void set_log_level(Level level);  // kInfo until set

void log_debug(std::string_view message, std::initializer_list<Field> fields = {});
void log_info(std::string_view message, std::initializer_list<Field> fields = {});
void log_warning(std::string_view message, std::initializer_list<Field> fields = {});
void log_error(std::string_view message, std::initializer_list<Field> fields = {});

}  // namespace agenttier::observe
