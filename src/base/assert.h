#pragma once
// AT_ASSERT states what must hold if the program is right. It stays on in release builds: a broken
// invariant ends the program, which is safe because every state it owns can be recovered.
// Never use it for input, for what another program may do, or for what the system may refuse.

namespace agenttier::base {
// Writes "file:line: assertion failed: expression" to standard error and aborts.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}  // namespace agenttier::base

#define AT_ASSERT(expression)          \
  ((expression) ? static_cast<void>(0) \
                : ::agenttier::base::assertion_failed(#expression, __FILE__, __LINE__))
