// RFC 6902 over boost::json values.

#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "store/api_error.h"
#include "store/patch.h"

namespace agenttier::store {
namespace {

using Tokens = std::vector<std::string>;

base::Error unprocessable(std::string message) {
  base::Error error = base::invalid(std::move(message));
  error.reason = "Invalid";
  return error;
}

base::Result<Tokens> parse_pointer(std::string_view pointer) {
  Tokens tokens;
  if (pointer.empty()) return tokens;
  if (pointer.front() != '/') {
    return bad_request("JSON patch: the path \"" + std::string(pointer) +
                       "\" must be empty or start with '/'");
  }
  std::string token;
  for (std::size_t i = 1; i <= pointer.size(); ++i) {
    if (i == pointer.size() || pointer[i] == '/') {
      tokens.push_back(std::move(token));
      token.clear();
    } else if (pointer[i] == '~' && i + 1 < pointer.size()) {
      token += pointer[++i] == '1' ? '/' : '~';
    } else {
      token += pointer[i];
    }
  }
  return tokens;
}

// Position in an array of `size`; at most size - 1.
std::optional<std::size_t> parse_index(const std::string& token, std::size_t size) {
  std::size_t index = 0;
  const char* end = token.data() + token.size();
  const auto [stop, failure] = std::from_chars(token.data(), end, index);
  const bool padded = token.size() > 1 && token.front() == '0';
  if (failure != std::errc() || stop != end || padded || index >= size) return std::nullopt;
  return index;
}

json::value* child(json::value& parent, const std::string& token) {
  if (json::object* object = parent.if_object()) return object->if_contains(token);
  json::array* array = parent.if_array();
  if (!array) return nullptr;
  const auto index = parse_index(token, array->size());
  return index ? &(*array)[*index] : nullptr;
}

json::value* resolve(json::value& root, const Tokens& tokens, std::size_t count) {
  json::value* current = &root;
  for (std::size_t i = 0; current && i < count; ++i) current = child(*current, tokens[i]);
  return current;
}

std::size_t count_values(const json::value& value) {
  std::size_t count = 1;
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) count += count_values(member.value());
  }
  if (const json::array* array = value.if_array()) {
    for (const json::value& element : *array) count += count_values(element);
  }
  return count;
}

bool is_prefix(const Tokens& start, const Tokens& whole) {
  return start.size() < whole.size() && std::equal(start.begin(), start.end(), whole.begin());
}

class Patcher {
 public:
  explicit Patcher(json::value target) : root_(std::move(target)) {}

  base::Status apply(const json::value& operation) {
    const json::object* fields = operation.if_object();
    if (!fields) return bad_request("JSON patch: each operation must be an object");
    const json::value* path = fields->if_contains("path");
    if (!path || !path->is_string()) return unprocessable("JSON patch: an operation has no path");
    path_ = view(path->get_string());
    AT_TRY(const Tokens at, parse_pointer(path_));
    return dispatch(find_text(*fields, "op"), *fields, at);
  }

  json::value take() { return std::move(root_); }

 private:
  base::Error missing(std::string_view what) const {
    return unprocessable("JSON patch: " + std::string(what) + ": the path \"" + path_ +
                         "\" does not exist");
  }

  base::Status dispatch(std::string_view op, const json::object& fields, const Tokens& at) {
    if (op == "remove") return remove(at);
    if (op == "move" || op == "copy") return transfer(op, fields, at);
    const json::value* value = fields.if_contains("value");
    if (op != "add" && op != "replace" && op != "test") {
      return unprocessable("JSON patch: unknown operation \"" + std::string(op) + "\"");
    }
    if (!value) return bad_request("JSON patch: " + std::string(op) + " needs a value");
    if (op == "add") return add(at, *value);
    json::value* found = resolve(root_, at, at.size());
    if (!found) return missing(op);
    if (op == "replace") {
      *found = *value;
      return {};
    }
    if (*found == *value) return {};
    return unprocessable("JSON patch: test: the value at \"" + path_ + "\" is another one");
  }

  base::Status add(const Tokens& at, json::value value) {
    if (at.empty()) {
      root_ = std::move(value);
      return {};
    }
    json::value* parent = resolve(root_, at, at.size() - 1);
    if (!parent) return missing("add");
    if (json::object* object = parent->if_object()) {
      (*object)[at.back()] = std::move(value);
      return {};
    }
    json::array* array = parent->if_array();
    if (!array) return missing("add");
    const auto index =
        at.back() == "-" ? std::optional(array->size()) : parse_index(at.back(), array->size() + 1);
    if (!index) return missing("add");
    array->insert(array->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
    return {};
  }

  base::Status remove(const Tokens& at) {
    json::value* found = resolve(root_, at, at.size());
    if (!found || at.empty()) return missing("remove");
    json::value* parent = resolve(root_, at, at.size() - 1);
    if (json::object* object = parent->if_object()) {
      object->erase(at.back());
    } else {
      json::array& array = parent->get_array();
      array.erase(array.begin() + (found - array.data()));
    }
    return {};
  }

  base::Status transfer(std::string_view op, const json::object& fields, const Tokens& at) {
    const json::value* from_path = fields.if_contains("from");
    if (!from_path || !from_path->is_string()) {
      return bad_request("JSON patch: " + std::string(op) + " needs from");
    }
    AT_TRY(const Tokens from, parse_pointer(view(from_path->get_string())));
    json::value* source = resolve(root_, from, from.size());
    if (!source) {
      return unprocessable("JSON patch: " + std::string(op) + ": from \"" +
                           std::string(view(from_path->get_string())) + "\" does not exist");
    }
    if (op == "copy") {
      copied_ += count_values(*source);
      if (copied_ > kPatchCopiedMax) return bad_request("JSON patch: it copies too many values");
      return add(at, *source);
    }
    if (is_prefix(from, at)) return bad_request("JSON patch: move into a part of itself");
    json::value value = *source;
    if (!from.empty()) AT_OK(remove(from));
    return add(at, std::move(value));
  }

  json::value root_;
  std::string path_;
  std::size_t copied_ = 0;
};

}  // namespace

base::Result<json::value> apply_json_patch(json::value target, const json::value& patch) {
  const json::array* operations = patch.if_array();
  if (!operations) return bad_request("a JSON patch must be an array of operations");
  if (operations->size() > kPatchOperationsMax) {
    return too_large("a JSON patch may have at most " + std::to_string(kPatchOperationsMax) +
                     " operations");
  }
  Patcher patcher(std::move(target));
  for (const json::value& operation : *operations) AT_OK(patcher.apply(operation));
  return patcher.take();
}

}  // namespace agenttier::store
