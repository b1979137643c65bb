// What the address of a request says: the runs that it names, and whether its host is this board.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pando::board {

// "run=a&run=b%20c" -> {{"run", "a"}, {"run", "b c"}}. Throws InvalidArgument for a broken % code.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);

// Whether a browser that sends this header Host may be answered. A page of a foreign name can make
// the name point to this machine, and would then read the answers; a numeric address or localhost
// cannot be such a name. `names` are others that are allowed.
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

}  // namespace pando::board
