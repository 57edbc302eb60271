// Quantities, durations and times.
#include "api/quantity.h"

#include "base/time_format.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agenttier;
  const auto text = fuzz::text_of(data, size);
  const bool good = api::check_quantity(text).has_value();
  const auto bytes = api::parse_bytes(text);
  if (bytes) {
    const auto again = api::parse_bytes(api::format_bytes(*bytes));
    fuzz::require(again.has_value() && *again == *bytes);
    fuzz::require(good == (*bytes >= 0) || *bytes == 0);
  }
  const auto duration = base::parse_duration(text);
  if (duration && duration->count() >= 0) {
    fuzz::require(base::parse_duration(base::format_duration(*duration)).has_value());
  }
  const auto time = base::parse_rfc3339(text);
  if (time) fuzz::require(base::parse_rfc3339(base::format_rfc3339(*time)).has_value());
  return 0;
}
