#pragma once
// The JSON merge patch (RFC 7386) that turns one object into another: changed and new members, null
// for those that went; lists are replaced as a whole. Empty if the two are equal.
//
// Writing the difference keeps what the types of this program do not know.

#include <boost/json/object.hpp>

namespace agenttier::router {

boost::json::object merge_patch_between(const boost::json::object& before,
                                        const boost::json::object& after);

}  // namespace agenttier::router
