// Address ranges of network rules.
#include "policy/cidr.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)agenttier::policy::parse_cidr(agenttier::fuzz::text_of(data, size));
  return 0;
}
