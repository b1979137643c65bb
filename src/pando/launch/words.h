// Words as a shell sees them: cutting a text into them, and quoting them to be pasted into a shell.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pando::launch {

// Words are apart by spaces; '...' and "..." keep spaces, a backslash keeps the next character
// (within "..." only before " and \). `label` heads the UsageError about a quote without its end.
std::vector<std::string> split_words(std::string_view text, std::string_view label);

// One line that a shell reads as these words.
std::string quote_words(const std::vector<std::string>& words);

}  // namespace pando::launch
