// Variables of the environment.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

namespace pando {

// The value of a variable, which may be empty; nothing if it is not set.
std::optional<std::string> find_variable(const std::string& name);

// The same, with an empty text for a variable that is not set.
std::string environment(const std::string& name);

// The folder that keeps this user's files of a kind between runs: $XDG_CACHE_HOME/pando/<kind>, or
// ~/.cache/pando/<kind>. Empty if neither variable is set.
std::string cache_folder(const std::string& kind);

}  // namespace pando
