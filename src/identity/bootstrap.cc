#include "identity/bootstrap.h"

#include <optional>
#include <utility>

#include "identity/key_file.h"

namespace agenttier::identity {
namespace {

ApiKeyRecord admin_record() {
  ApiKeyRecord record;
  record.user_id = "admin";
  record.name = "admin";
  record.is_admin = true;
  return record;
}

}  // namespace

async::Task<base::Result<AdminKey>> ensure_admin_key(ApiKeys& keys, async::BlockingPool& blocking,
                                                     base::Random& random, std::string path) {
  auto read = co_await blocking.run([path] { return read_key_file(path); });
  if (!read) co_return std::move(read).error().context("admin key");
  std::optional<std::string> key = *std::move(read);
  AdminKeyOrigin origin = AdminKeyOrigin::kFound;
  if (!key) {
    // The file first: a crash in between leaves a file that the next start makes valid.
    key = make_api_key(random);
    origin = AdminKeyOrigin::kMade;
    const std::string temporary = path + "." + random.hex(8);
    auto written = co_await blocking.run([path, temporary, content = *key + "\n"] {
      return write_key_file(path, temporary, content);
    });
    if (!written) co_return std::move(written).error().context("admin key");
  }
  if (!looks_like_api_key(*key)) {
    co_return base::conflict("admin key: " + path +
                             ": does not hold an API key; remove it to get a new one");
  }
  auto stored = co_await keys.ensure(*key, admin_record());
  if (!stored) co_return std::move(stored).error().context("admin key of " + path);
  AdminKey result;
  result.path = std::move(path);
  result.id = stored->id;
  result.origin = origin;
  co_return result;
}

}  // namespace agenttier::identity
