// What a caller asks the runtime to start.
#include "runtime/process_spec.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agenttier;
  const auto text = fuzz::text_of(data, size);
  const auto spec = runtime::parse_process_spec(text);
  if (spec) fuzz::require(!spec->argv.empty());
  (void)runtime::parse_terminal_size(text);
  (void)runtime::parse_signal(text);
  return 0;
}
