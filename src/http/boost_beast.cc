// The one unit that compiles Boost.Beast's implementation.
#include <boost/beast/src.hpp>
