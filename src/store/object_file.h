#pragma once
// The ObjectFile keeps all objects in one SQLite database, DIRECTORY/store.db, with the version
// counter. It holds the file for itself: a second process is refused.
//
// Guarantee: when commit() returns, its changes and the version are on the disk; a crash before
// leaves none of them. Blocking: after open() use it from one thread at a time, never from the
// loop.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "sql/database.h"
#include "store/object.h"

namespace agenttier::store {

struct LoadedObjects {
  std::vector<ObjectPtr> objects;
  std::uint64_t version = 0;
  std::int64_t last_row = 0;
};

class ObjectFile {
 public:
  static base::Result<std::unique_ptr<ObjectFile>> open(const std::string& directory);

  base::Result<LoadedObjects> load();
  // All of them or none. `changes` are in order; of several of one object only the last is written.
  base::Status commit(std::span<const Change> changes, std::uint64_t version);
  // Long enough for a checkpoint when no commit waits.
  bool log_is_long() const;
  base::Status checkpoint();

 private:
  explicit ObjectFile(std::unique_ptr<sql::Database> database) : database_(std::move(database)) {}
  base::Status write(const StoredObject& object);
  base::Status erase(std::int64_t row);
  base::Status write_version(std::uint64_t version);

  std::unique_ptr<sql::Database> database_;
};

}  // namespace agenttier::store
