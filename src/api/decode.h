#pragma once
// How strictly JSON is read into the types of the wire.
//
// Lenient is for objects of the Kubernetes API: unknown keys are ignored, since the server that
// stored the object has validated it and may be newer than this program. Types are checked still.
// Strict is for what a caller sends: unknown keys, values outside an enumeration, lengths, ranges
// and malformed quantities, durations, times and names are errors that name the field.
// In both, null means absent, and the error carries a cause per wrong field.

#include <cstdint>

namespace agenttier::api {

enum class Decode : std::uint8_t { kLenient, kStrict };

}  // namespace agenttier::api
