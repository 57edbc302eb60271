#pragma once
// Random bytes for tokens, ids and jitter. Programs use SystemRandom (getrandom); tests give a
// SeededRandom, whose sequence depends on the seed alone.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace agenttier::base {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::string bytes(std::size_t count) = 0;

  std::uint64_t number();                   // 64 random bits
  double unit();                            // [0, 1)
  std::string hex(std::size_t byte_count);  // 2 * byte_count characters
  std::string token();                      // 32 bytes as base64url, 43 characters
  std::string suffix(
      std::size_t length);  // letters and digits as Kubernetes uses in generated names
  std::string uuid();       // version 4
};

class SystemRandom final : public Random {
 public:
  std::string bytes(std::size_t count) override;
};

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::string bytes(std::size_t count) override;

 private:
  std::mt19937_64 engine_;
};

}  // namespace agenttier::base
