// The hosts of a job: lists with ranges, and files of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pando::launch {

constexpr size_t kMostHosts = 65536;

// "a,node[08-10,12]" -> a, node08, node09, node10, node12: zeros in front stay, several brackets
// give every combination. `label` heads the UsageError about what is no such list, a host that is
// named twice, too many hosts.
std::vector<std::string> expand_hosts(std::string_view text, std::string_view label);

// A list on each line; what follows a # is a comment. Throws UsageError with file and line.
std::vector<std::string> read_host_file(const std::string& path);

}  // namespace pando::launch
