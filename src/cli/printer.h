#pragma once
// Prints results as text, JSON or YAML. Text goes through control characters made visible, so that
// a name chosen by somebody else cannot move the cursor of the terminal.

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agenttier::cli {

enum class Format { kText, kJson, kYaml };

base::Result<Format> parse_format(std::string_view text);

// One column of a table: its heading and the key of the object it shows ("createdBy.email").
struct Column {
  std::string_view heading;
  std::string_view key;
};

// Columns two spaces apart, no trailing blanks; "(no results)" under the heading of an empty one.
std::string format_table(const boost::json::array& rows, const std::vector<Column>& columns);
std::string format_json(
    const boost::json::value& value);  // two spaces of indentation, newline at the end
std::string format_yaml(const boost::json::value& value);
base::Result<boost::json::value> parse_yaml(const std::string& text);

// The text of a value at a dotted key; "-" if it is absent or empty.
std::string cell(const boost::json::object& row, std::string_view key);
std::string visible(std::string_view text);

}  // namespace agenttier::cli
