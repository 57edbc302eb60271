#include "api/label_selector.h"

#include <algorithm>
#include <optional>

#include "api/validate.h"
#include "base/bytes.h"

#include <fmt/format.h>

namespace agenttier::api {
namespace {

using base::Error;
using base::Result;
using Operator = LabelRequirement::Operator;

// Reads one selector from front to back.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), rest_(text) {}

  Error fail(std::string_view why) const {
    constexpr std::size_t kShownMax = 80;
    return base::invalid(
        fmt::format("label selector '{}': {}; write for example team=red,tier in (web,db),!old",
                    base::to_valid_utf8(text_.substr(0, kShownMax)), why));
  }

  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }

  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }

  bool take(std::string_view symbol) {
    skip_blanks();
    if (!rest_.starts_with(symbol)) return false;
    rest_.remove_prefix(symbol.size());
    return true;
  }

  std::string take_word() {
    skip_blanks();
    const std::size_t size = std::min(rest_.find_first_of(" \t,=!()<>"), rest_.size());
    std::string word(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return word;
  }

 private:
  std::string_view text_;
  std::string_view rest_;
};

Result<std::string> take_key(Scanner& in) {
  std::string key = in.take_word();
  if (key.empty()) return in.fail("the name of a label is missing");
  if (auto status = check_label_key(key); !status) return in.fail(status.error().message);
  return key;
}

Result<std::string> take_value(Scanner& in) {
  std::string value = in.take_word();
  if (auto status = check_label_value(value); !status) return in.fail(status.error().message);
  return value;
}

Result<std::vector<std::string>> take_set(Scanner& in) {
  if (!in.take("(")) return in.fail("'(' is missing after in or notin");
  std::vector<std::string> values;
  do {
    AT_TRY(std::string value, take_value(in));
    values.push_back(std::move(value));
  } while (in.take(","));
  if (!in.take(")")) return in.fail("')' is missing");
  return values;
}

Result<LabelRequirement> take_requirement(Scanner& in) {
  if (in.take("!")) {
    AT_TRY(std::string key, take_key(in));
    return LabelRequirement{std::move(key), Operator::kAbsent, {}};
  }
  AT_TRY(std::string key, take_key(in));
  const bool differs = in.take("!=");
  if (differs || in.take("==") || in.take("=")) {
    AT_TRY(std::string value, take_value(in));
    return LabelRequirement{
        std::move(key), differs ? Operator::kNotIn : Operator::kIn, {std::move(value)}};
  }
  const std::string word = in.take_word();
  if (word.empty()) return LabelRequirement{std::move(key), Operator::kExists, {}};
  if (word != "in" && word != "notin") return in.fail(fmt::format("'{}' is no operator", word));
  AT_TRY(std::vector<std::string> values, take_set(in));
  return LabelRequirement{std::move(key), word == "in" ? Operator::kIn : Operator::kNotIn,
                          std::move(values)};
}

std::optional<Operator> parse_operator(std::string_view text) {
  if (text == "In") return Operator::kIn;
  if (text == "NotIn") return Operator::kNotIn;
  if (text == "Exists") return Operator::kExists;
  if (text == "DoesNotExist") return Operator::kAbsent;
  return std::nullopt;
}

std::string text_of(const LabelRequirement& requirement) {
  const std::string& key = requirement.key;
  switch (requirement.op) {
    case Operator::kExists:
      return key;
    case Operator::kAbsent:
      return "!" + key;
    case Operator::kIn:
    case Operator::kNotIn:
      break;
  }
  const bool in = requirement.op == Operator::kIn;
  if (requirement.values.size() == 1) {
    return fmt::format("{}{}{}", key, in ? "=" : "!=", requirement.values[0]);
  }
  return fmt::format("{} {} ({})", key, in ? "in" : "notin", fmt::join(requirement.values, ","));
}

}  // namespace

bool LabelRequirement::matches(const Labels& labels) const {
  const auto found = labels.find(key);
  const bool is_there = found != labels.end();
  const bool is_listed = is_there && std::ranges::find(values, found->second) != values.end();
  switch (op) {
    case Operator::kIn:
      return is_listed;
    case Operator::kNotIn:
      return !is_listed;
    case Operator::kExists:
      return is_there;
    case Operator::kAbsent:
      return !is_there;
  }
  return false;
}

bool LabelQuery::matches(const Labels& labels) const {
  return std::ranges::all_of(requirements,
                             [&](const auto& requirement) { return requirement.matches(labels); });
}

std::string LabelQuery::text() const {
  std::string out;
  for (const LabelRequirement& requirement : requirements) {
    if (!out.empty()) out += ',';
    out += text_of(requirement);
  }
  return out;
}

Result<LabelQuery> parse_label_query(std::string_view text) {
  Scanner in(text);
  LabelQuery query;
  if (text.size() > kLabelQueryBytesMax) {
    return in.fail(fmt::format("it is longer than {} bytes", kLabelQueryBytesMax));
  }
  if (in.at_end()) return query;
  do {
    AT_TRY(LabelRequirement requirement, take_requirement(in));
    query.requirements.push_back(std::move(requirement));
  } while (in.take(","));
  if (!in.at_end()) return in.fail("a comma is missing between two requirements");
  return query;
}

Result<LabelQuery> to_label_query(const LabelSelector& selector) {
  LabelQuery query;
  for (const auto& [key, value] : selector.match_labels) {
    query.requirements.push_back({key, Operator::kIn, {value}});
  }
  for (const LabelSelectorRequirement& expression : selector.match_expressions) {
    const auto op = parse_operator(expression.operator_);
    if (!op) {
      return base::invalid_field(
          "matchExpressions.operator",
          fmt::format("'{}' must be In, NotIn, Exists or DoesNotExist", expression.operator_));
    }
    const bool needs_values = *op == Operator::kIn || *op == Operator::kNotIn;
    if (needs_values == expression.values.empty()) {
      return base::invalid_field("matchExpressions.values",
                                 needs_values ? "must not be empty for In and NotIn"
                                              : "must be empty for Exists and DoesNotExist");
    }
    query.requirements.push_back({expression.key, *op, expression.values});
  }
  return query;
}

bool matches(const LabelSelector& selector, const Labels& labels) {
  const auto query = to_label_query(selector);
  return query.has_value() && query->matches(labels);
}

}  // namespace agenttier::api
