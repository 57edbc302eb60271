#include "http/message.h"

#include <algorithm>

#include "base/assert.h"
#include "http/text.h"

namespace agenttier::http {
namespace {

constexpr std::size_t kPieceBytesMax = 64 * 1024;

const std::string& no_bytes() {
  static const std::string kEmpty;
  return kEmpty;
}

base::Error too_large(std::uint64_t bytes_max) {
  base::Error error =
      base::invalid("body is larger than the limit of " + std::to_string(bytes_max) + " bytes");
  error.reason = "body_too_large";
  return error;
}

class MemoryReader final : public BodyReader {
 public:
  explicit MemoryReader(std::string bytes) : bytes_(std::move(bytes)) {}

  async::Task<base::Result<std::string>> read() override {
    if (begin_ == 0 && bytes_.size() <= kPieceBytesMax) co_return std::exchange(bytes_, {});
    std::string piece = bytes_.substr(begin_, kPieceBytesMax);
    begin_ += piece.size();
    co_return piece;
  }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

}  // namespace

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const auto& [field, value] : fields_) {
    if (equal_without_case(field, name)) return value;
  }
  return std::nullopt;
}

void Headers::set(std::string_view name, std::string value) {
  remove(name);
  add(name, std::move(value));
}

void Headers::add(std::string_view name, std::string value) {
  fields_.emplace_back(std::string(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_,
                [name](const auto& field) { return equal_without_case(field.first, name); });
}

std::optional<std::uint64_t> Body::length() const {
  if (is_stream()) return length_;
  return std::get<std::string>(content_).size();
}

const std::string& Body::bytes() const {
  return is_stream() ? no_bytes() : std::get<std::string>(content_);
}

async::Task<base::Result<std::string>> Body::read_all(std::uint64_t bytes_max) {
  if (const auto known = length(); known && *known > bytes_max) co_return too_large(bytes_max);
  if (!is_stream()) co_return std::exchange(std::get<std::string>(content_), {});
  const auto reader = std::move(std::get<std::unique_ptr<BodyReader>>(content_));
  content_ = std::string();
  std::string all;
  while (true) {
    AT_CO_TRY(std::string piece, co_await reader->read());
    if (piece.empty()) co_return all;
    if (piece.size() > bytes_max - all.size()) co_return too_large(bytes_max);
    if (all.empty()) {
      all = std::move(piece);
    } else {
      all += piece;
    }
  }
}

std::unique_ptr<BodyReader> Body::into_reader() {
  auto content = std::exchange(content_, std::string());
  if (auto* reader = std::get_if<std::unique_ptr<BodyReader>>(&content)) return std::move(*reader);
  return std::make_unique<MemoryReader>(std::move(std::get<std::string>(content)));
}

}  // namespace agenttier::http
