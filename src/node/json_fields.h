#pragma once
// Reads the agent's own small JSON files (records, state): a missing or wrong field is its default,
// since the files are ours and older versions lack newer fields.

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agenttier::node {

// `what` is for the message: "image record".
base::Result<boost::json::object> parse_json_object(const std::string& text, std::string_view what);

std::string text_field(const boost::json::object& object, std::string_view key);
std::int64_t number_field(const boost::json::object& object, std::string_view key);
bool true_field(const boost::json::object& object, std::string_view key);
std::vector<std::string> texts_field(const boost::json::object& object, std::string_view key);
// Null if it is missing or not an object.
const boost::json::object* object_field(const boost::json::object& object, std::string_view key);
const boost::json::array* array_field(const boost::json::object& object, std::string_view key);

boost::json::array to_json_array(const std::vector<std::string>& texts);

}  // namespace agenttier::node
