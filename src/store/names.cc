#include "store/names.h"

#include <algorithm>

namespace agenttier::store {
namespace {

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}

bool is_dns_label(std::string_view text) {
  if (text.empty() || text.front() == '-' || text.back() == '-') return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

bool is_subdomain(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// Letters, digits, '-', '_' and '.', with a letter or digit at both ends.
bool is_name_part(std::string_view text) {
  const auto edge = [](char c) { return is_letter(c) || is_digit(c); };
  if (text.empty() || !edge(text.front()) || !edge(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return edge(c) || c == '-' || c == '_' || c == '.'; });
}

std::string too_long(std::size_t limit) {
  return "must be no more than " + std::to_string(limit) + " characters";
}

constexpr std::string_view kSubdomainFault =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelFault =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kServiceLabelFault =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kNamePartFault =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueFault =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kDataKeyFault =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

}  // namespace

std::string name_fault(NameRule rule, std::string_view name) {
  const std::size_t limit = rule == NameRule::kSubdomain ? kSubdomainMax : kLabelMax;
  if (name.size() > limit) return too_long(limit);
  switch (rule) {
    case NameRule::kSubdomain:
      return is_subdomain(name) ? "" : std::string(kSubdomainFault);
    case NameRule::kLabel:
      if (is_dns_label(name)) return "";
      return name.find('.') == std::string_view::npos ? std::string(kLabelFault)
                                                      : "must not contain dots";
    case NameRule::kServiceLabel:
      return is_dns_label(name) && is_lower(name.front()) ? "" : std::string(kServiceLabelFault);
  }
  return "";
}

std::string qualified_name_fault(std::string_view name) {
  const std::size_t slash = name.find('/');
  std::string_view part = name;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = name.substr(0, slash);
    part = name.substr(slash + 1);
    if (prefix.empty()) return "prefix part must be non-empty";
    if (prefix.size() > kSubdomainMax) return "prefix part " + too_long(kSubdomainMax);
    if (!is_subdomain(prefix)) return "prefix part " + std::string(kSubdomainFault);
  }
  if (part.empty()) return "name part must be non-empty";
  if (part.size() > kLabelMax) return "name part " + too_long(kLabelMax);
  return is_name_part(part) ? "" : std::string(kNamePartFault);
}

std::string label_value_fault(std::string_view value) {
  if (value.size() > kLabelMax) return too_long(kLabelMax);
  return value.empty() || is_name_part(value) ? "" : std::string(kLabelValueFault);
}

std::string data_key_fault(std::string_view key) {
  if (key.size() > kSubdomainMax) return too_long(kSubdomainMax);
  if (key == "." || key == "..") return "must not be '" + std::string(key) + "'";
  const bool right = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
  });
  return right ? "" : std::string(kDataKeyFault);
}

}  // namespace agenttier::store
