// SPDX-License-Identifier: MIT
#include "pando/launch/words.h"

#include <algorithm>

#include "pando/app/job/exit_code.h"

namespace pando::launch {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

bool is_plain(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') ||
         std::string_view("-_=+,./:@%").find(c) != std::string_view::npos;
}

std::string quote_word(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

std::vector<std::string> split_words(std::string_view text, std::string_view label) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && is_space(c)) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    const char next = i + 1 < text.size() ? text[i + 1] : 0;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && next != 0 &&
               (quote == 0 || (quote == '"' && (next == '"' || next == c)))) {
      words.back() += next;
      ++i;
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) {
    throw UsageError(label, ": expected words quoted as for a shell, got an unclosed ", quote,
                     " in '", text, "'");
  }
  return words;
}

std::string quote_words(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(quote_word(word));
  return join(quoted, " ");
}

}  // namespace pando::launch
