#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "base/assert.h"
#include "base/bytes.h"

namespace agenttier::base {
namespace {

std::span<const std::uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

std::uint64_t Random::number() {
  const std::string raw = bytes(sizeof(std::uint64_t));
  std::uint64_t value = 0;
  std::memcpy(&value, raw.data(), sizeof value);
  return value;
}

double Random::unit() {
  return static_cast<double>(number() >> 11) * 0x1.0p-53;
}

std::string Random::hex(std::size_t byte_count) {
  return to_hex(as_bytes(bytes(byte_count)));
}

std::string Random::token() {
  return to_base64url(bytes(32));
}

std::string Random::suffix(std::size_t length) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (char c : bytes(length)) out += kAlphabet[static_cast<std::uint8_t>(c) % kAlphabet.size()];
  return out;
}

std::string Random::uuid() {
  std::string raw = bytes(16);
  raw[6] = static_cast<char>((raw[6] & 0x0F) | 0x40);
  raw[8] = static_cast<char>((raw[8] & 0x3F) | 0x80);
  const std::string digits = to_hex(as_bytes(raw));
  return digits.substr(0, 8) + "-" + digits.substr(8, 4) + "-" + digits.substr(12, 4) + "-" +
         digits.substr(16, 4) + "-" + digits.substr(20);
}

std::string SystemRandom::bytes(std::size_t count) {
  std::string out(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = getrandom(out.data() + done, count - done, 0);
    if (got < 0 && errno == EINTR) continue;
    AT_ASSERT(got > 0);
    done += static_cast<std::size_t>(got);
  }
  return out;
}

std::string SeededRandom::bytes(std::size_t count) {
  std::string out(count, '\0');
  for (char& c : out) c = static_cast<char>(engine_() & 0xFFU);
  return out;
}

}  // namespace agenttier::base
