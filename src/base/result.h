#pragma once
// Result<T> is a T or the Error that prevented it; Status is a Result without a value.
//
// Expected failures are returned, never thrown; ignoring one is a compile-time warning. The member
// names are those of std::expected, which this type gives way to when the language offers it.
//
// Example:
//   Result<Config> load(const std::string& path) {
//     AT_TRY(std::string text, read_file(path));
//     return parse(text);
//   }

#include <optional>
#include <utility>
#include <variant>

#include "base/assert.h"
#include "base/error.h"

namespace agenttier::base {

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & {
    AT_ASSERT(has_value());
    return std::get<0>(state_);
  }
  const T& value() const& {
    AT_ASSERT(has_value());
    return std::get<0>(state_);
  }
  T&& value() && {
    AT_ASSERT(has_value());
    return std::get<0>(std::move(state_));
  }

  Error& error() & {
    AT_ASSERT(!has_value());
    return std::get<1>(state_);
  }
  const Error& error() const& {
    AT_ASSERT(!has_value());
    return std::get<1>(state_);
  }
  Error&& error() && {
    AT_ASSERT(!has_value());
    return std::get<1>(std::move(state_));
  }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  T value_or(T fallback) && {
    return has_value() ? std::get<0>(std::move(state_)) : std::move(fallback);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void value() const { AT_ASSERT(has_value()); }

  Error& error() & {
    AT_ASSERT(error_.has_value());
    return *error_;
  }
  const Error& error() const& {
    AT_ASSERT(error_.has_value());
    return *error_;
  }
  Error&& error() && {
    AT_ASSERT(error_.has_value());
    return *std::move(error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace agenttier::base

#define AT_CAT_INNER(a, b) a##b
#define AT_CAT(a, b) AT_CAT_INNER(a, b)

// AT_TRY(T name, expression): declares name from the value, or returns the error.
#define AT_TRY(declaration, expression)                                                \
  auto AT_CAT(at_try_, __LINE__) = (expression);                                       \
  if (!AT_CAT(at_try_, __LINE__)) return std::move(AT_CAT(at_try_, __LINE__)).error(); \
  declaration = std::move(AT_CAT(at_try_, __LINE__)).value()

// The same in a coroutine.
#define AT_CO_TRY(declaration, expression)                                                \
  auto AT_CAT(at_try_, __LINE__) = (expression);                                          \
  if (!AT_CAT(at_try_, __LINE__)) co_return std::move(AT_CAT(at_try_, __LINE__)).error(); \
  declaration = std::move(AT_CAT(at_try_, __LINE__)).value()

// AT_OK(expression): returns the error of a Status (or of a Result whose value is not wanted).
#define AT_OK(expression)                                                                        \
  do {                                                                                           \
    if (auto at_ok_status = (expression); !at_ok_status) return std::move(at_ok_status).error(); \
  } while (false)

// The same in a coroutine.
#define AT_CO_OK(expression)                             \
  do {                                                   \
    if (auto at_ok_status = (expression); !at_ok_status) \
      co_return std::move(at_ok_status).error();         \
  } while (false)
