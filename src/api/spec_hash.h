#pragma once
// A hash of a JSON value that depends on what it says, not on how it is written.
//
// Keys are sorted, numbers of equal value are written alike (1 and 1.0), and members that are null
// are left out, so that a value read from another server hashes as the one that was sent. It is a
// SHA-256, since a tenant must not be able to make a specification that passes for another.
//
// Example:
//   if (spec_hash(spec.to_json()) != status.spec_hash) { /* the pod is of an older specification */
//   }

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace agenttier::api {

// The canonical text: no blanks, sorted keys, no null members.
std::string canonical_json(const boost::json::value& value);
// SHA-256 of canonical_json: 64 hex digits.
std::string spec_hash(const boost::json::value& value);

// SHA-256 of bytes as 64 hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace agenttier::api
