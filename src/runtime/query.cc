#include "runtime/query.h"

#include <charconv>

namespace agenttier::runtime {

base::Result<Flag> read_flag(const http::Target& target, std::string_view name) {
  const auto text = target.find(name);
  if (!text || *text == "false") return Flag::kFalse;
  if (*text == "true") return Flag::kTrue;
  return base::invalid_field(std::string(name), "must be true or false");
}

base::Result<std::uint64_t> read_number(const http::Target& target, std::string_view name,
                                        std::uint64_t fallback) {
  const auto text = target.find(name);
  if (!text) return fallback;
  std::uint64_t number = 0;
  const char* const last = text->data() + text->size();
  const auto [end, failure] = std::from_chars(text->data(), last, number);
  if (failure != std::errc() || end != last || text->empty()) {
    return base::invalid_field(std::string(name), "must be a whole number, not negative");
  }
  return number;
}

base::Result<std::string> read_text(const http::Target& target, std::string_view name) {
  const auto text = target.find(name);
  if (!text || text->empty()) return base::invalid_field(std::string(name), "is missing");
  return std::string(*text);
}

}  // namespace agenttier::runtime
