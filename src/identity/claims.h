#pragma once
// Claims say who a caller is and what their credential allows, once it has been verified.
//
// A credential bound to one sandbox has sandbox_id (its name) and, unless an older program made it,
// sandbox_uid: a name may be reused, so whoever looks the sandbox up must call may_reach() with
// what was found. action_groups mean something for bound credentials only.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace agenttier::identity {

struct Claims {
  std::string sub;  // never empty
  std::string email;
  std::string name;
  std::vector<std::string> groups;
  bool is_admin = false;
  std::string sandbox_id;  // empty: not bound
  std::string sandbox_uid;
  std::vector<std::string> action_groups;
  std::string key_id;                        // of the API key; empty for a token
  std::optional<base::WallTime> expires_at;  // of the credential

  bool is_bound() const { return !sandbox_id.empty(); }
  // Whether the credential's binding, if it has one, is to this very sandbox.
  bool may_reach(std::string_view name_found, std::string_view uid_found) const {
    if (!is_bound()) return true;
    return sandbox_id == name_found && (sandbox_uid.empty() || sandbox_uid == uid_found);
  }
};

}  // namespace agenttier::identity
