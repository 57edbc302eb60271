#pragma once
// A Migration takes a database from version `version - 1` to `version`. A program's migrations are
// a list without gaps that starts at 1; released ones are never edited, only followed by new ones.
// Each runs in one transaction with the change of the version, so an interrupted one leaves
// nothing.

#include <string_view>

namespace agenttier::sql {

struct Migration {
  int version;
  std::string_view name;  // for errors: "create objects"
  std::string_view sql;
};

}  // namespace agenttier::sql
