#pragma once
// A small secret in a file: read whole, written once.
//
// Both block: call them in a BlockingPool.

#include <optional>
#include <string>

#include "base/result.h"

namespace agenttier::identity {

// Nothing if there is no file. Refuses what is not a regular file, a file of another user, and one
// that others can read or write, with a message that says what to do. Ending white space is
// dropped.
base::Result<std::optional<std::string>> read_key_file(const std::string& path);

// Makes the file with mode 0600, durably and all at once; kExists if there is one already.
// `temporary` is a name in the same directory that nothing else uses.
base::Status write_key_file(const std::string& path, const std::string& temporary,
                            const std::string& content);

}  // namespace agenttier::identity
