// Reads the address of a request: which runs it names, and whether its host is this board.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pando::board {

// "run=a&run=b%20c" -> {{"run", "a"}, {"run", "b c"}}. Throws InvalidArgument for a broken % code.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);

// Whether to answer a browser that sends this header Host. A foreign web page can let its own host
// name point to this machine and then read the answers; numeric addresses and localhost are safe.
// `names` are further allowed hosts.
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

}  // namespace pando::board
