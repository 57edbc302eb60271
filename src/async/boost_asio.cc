// The one unit that compiles Boost.Asio's implementation.
#include <boost/asio/impl/src.hpp>
