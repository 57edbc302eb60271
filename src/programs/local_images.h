#pragma once
// Brings the OCI layouts that an image build left in a folder into the node's own folder, where
// they are used as agenttier/<name>.

#include <string>

#include "base/result.h"

namespace agenttier::programs {

// Copies each sub-folder of `from` that holds an OCI layout to `to`/agenttier/<its name>, unless
// what is there has the same index. A copy appears whole or not at all. An absent `from` is an
// error.
base::Status take_local_images(const std::string& from, const std::string& to);

}  // namespace agenttier::programs
