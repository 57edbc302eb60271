#pragma once
// Changes of the file tree: make, move, remove. All calls may block: use a BlockingPool.

#include <cstdint>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "runtime/file_roots.h"

namespace agenttier::runtime {

enum class Made : std::uint8_t { kNew, kExisted };
// With its parents. kExists if there is something else of that name.
base::Result<Made> make_directory(const FileRoots& roots, const std::string& path);

// As `mv`: a file that is in the way is replaced; a directory there is kConflict. Between file
// systems only a regular file can be moved.
base::Status move_file(const FileRoots& roots, const std::string& from, const std::string& to,
                       base::Random& random);

enum class Depth : std::uint8_t { kSelf, kTree };
// A symlink is removed, not what it points to. kConflict if a directory holds something and kSelf
// is asked for; kInvalid for a root.
base::Status remove_file(const FileRoots& roots, const std::string& path, Depth depth);

}  // namespace agenttier::runtime
