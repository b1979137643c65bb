// Reads the hosts of a job from lists with ranges and from host files.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pando::launch {

constexpr size_t kMostHosts = 65536;

// Expands a list: "a,node[08-10,12]" -> a, node08, node09, node10, node12. Leading zeros are kept;
// several brackets give every combination. Throws UsageError, starting with `label`, for a
// malformed list, a host that is named twice, or too many hosts.
std::vector<std::string> expand_hosts(std::string_view text, std::string_view label);

// Each line holds a list; the text after # is a comment. Throws UsageError with file and line.
std::vector<std::string> read_host_file(const std::string& path);

}  // namespace pando::launch
