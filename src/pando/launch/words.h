// Splits text into words like a shell, and quotes words for a shell.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pando::launch {

// Spaces separate words; '...' and "..." keep spaces; a backslash keeps the next character (within
// "..." only before " and \). Throws UsageError, starting with `label`, for an unclosed quote.
std::vector<std::string> split_words(std::string_view text, std::string_view label);

// One line that a shell reads as these words.
std::string quote_words(const std::vector<std::string>& words);

}  // namespace pando::launch
