#pragma once
// Reads and writes the small files by which the kernel speaks: /proc, /sys.

#include <cstddef>
#include <string>
#include <string_view>

namespace agenttier::runtime {

// What the file holds, at most bytes_max and a little more; empty if it cannot be read.
std::string read_small_file(const std::string& path, std::size_t bytes_max);
// Whether it could be written, in one piece.
bool write_small_file(const std::string& path, std::string_view text);

}  // namespace agenttier::runtime
