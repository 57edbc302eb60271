#pragma once
// What a command works with: the API, where to print, and how.

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/api_client.h"
#include "cli/command.h"
#include "cli/printer.h"

namespace agenttier::cli {

struct Context {
  ApiClient& api;
  Format format = Format::kText;
  Config file_config;     // what the file says, without flags and environment
  Config flag_config;     // what the flags say
  bool progress = false;  // standard error is a terminal

  // Standard output and error; a closed pipe ends the program quietly.
  void out(std::string_view text) const;
  void note(std::string_view text) const;
  // A message that is overwritten by the next one; shown on a terminal only.
  void show_progress(std::string_view text) const;
  void end_progress() const;

  // Prints `value` as JSON or YAML, or `text` when the format is text.
  int print(const boost::json::value& value, std::string_view text) const;
  int print_table(const boost::json::value& reply, std::string_view key,
                  const std::vector<Column>& columns) const;
};

}  // namespace agenttier::cli
