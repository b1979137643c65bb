// Reads any text as a list of hosts and as words of a shell. Words that were read are written and
// read again. Expects the same words or a UsageError.
// SPDX-License-Identifier: MIT
#include "pando/launch/hosts.h"
#include "pando/launch/words.h"
#include "pando/options/usage_error.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::hosts(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    PANDO_CHECK(launch::expand_hosts(text, "--host").size() <= launch::kMostHosts);
  } catch (const UsageError&) {
  }
  try {
    const std::vector<std::string> words = launch::split_words(text, "--args");
    PANDO_CHECK(launch::split_words(launch::quote_words(words), "--args") == words);
  } catch (const UsageError&) {
  }
}
