// The JSON codec of a sandbox: what was read is written and read again the same.
#include <boost/json.hpp>

#include "api/sandbox.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agenttier;
  boost::system::error_code failed;
  const auto value = boost::json::parse(fuzz::text_of(data, size), failed);
  if (failed) return 0;
  for (const api::Decode mode : {api::Decode::kLenient, api::Decode::kStrict}) {
    const auto spec = api::SandboxSpec::from_json(value, "spec", mode);
    if (!spec) continue;
    const auto again = api::SandboxSpec::from_json(spec->to_json(), "spec", mode);
    fuzz::require(again.has_value() && *again == *spec);
  }
  return 0;
}
