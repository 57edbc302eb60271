// Label selectors: the canonical text of what was understood means the same.
#include "api/label_selector.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agenttier;
  const auto query = api::parse_label_query(fuzz::text_of(data, size));
  if (!query) return 0;
  const auto again = api::parse_label_query(query->text());
  fuzz::require(again.has_value() && *again == *query);
  (void)query->matches({{"a", "b"}, {"app", "demo"}});
  return 0;
}
