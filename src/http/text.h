#pragma once
// Small rules of HTTP's text: names compare without case, tokens, comma lists, safe header values.

#include <string>
#include <string_view>

namespace agenttier::http {

bool equal_without_case(std::string_view a, std::string_view b);
// Whether a comma-separated header value holds the token, without case.
bool has_token(std::string_view list, std::string_view token);
// A header name is a token of RFC 9110; a value has no control characters but the tab.
bool is_token(std::string_view text);
bool is_field_value(std::string_view text);
std::string_view trim(std::string_view text);

}  // namespace agenttier::http
