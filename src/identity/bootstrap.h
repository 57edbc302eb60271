#pragma once
// The admin key of an installation: a file that only its owner reads, and the Secret that makes it
// valid.
//
// ensure_admin_key() makes both exist. The file is the authority: a Secret that is missing is made
// again from it. Without a file a new key is made, whatever Secrets there are: nobody can know
// their keys. The file appears whole or not at all, with mode 0600, and its content is never
// printed. What stands in the file and is no key is reported, not replaced.
//
// Example:
//   AT_CO_TRY(AdminKey admin, co_await ensure_admin_key(keys, blocking, random, dir +
//   "/admin.key"));

#include <string>

#include "async/blocking_pool.h"
#include "async/task.h"
#include "base/random.h"
#include "base/result.h"
#include "identity/api_keys.h"

namespace agenttier::identity {

enum class AdminKeyOrigin { kFound, kMade };

struct AdminKey {
  std::string path;
  std::string id;  // of the API key
  AdminKeyOrigin origin = AdminKeyOrigin::kFound;
};

// The references outlive the task.
async::Task<base::Result<AdminKey>> ensure_admin_key(ApiKeys& keys, async::BlockingPool& blocking,
                                                     base::Random& random, std::string path);

}  // namespace agenttier::identity
