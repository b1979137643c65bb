// SPDX-License-Identifier: MIT
#include "pando/options/dictionary_keys.h"

#include <algorithm>

#include "pando/options/usage_error.h"

namespace pando {

void check_keys(const OptionTable& table, const std::string& dictionary, const WantedKeys& wanted) {
  const Option* option = table.find_exact(dictionary);
  PANDO_CHECK(option != nullptr && option->entries != nullptr, "no dictionary '", dictionary, "'");
  const std::vector<std::string> found = option->show().keys;
  std::vector<std::string> known = wanted.required;
  known.insert(known.end(), wanted.optional.begin(), wanted.optional.end());
  for (const std::string& key : found) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw UsageError("--", dictionary, ": ", wanted.owner, " has no key '", key, "', expected ",
                     known.empty() ? "no keys" : join(known, ", "));
  }
  std::vector<std::string> missing;
  for (const std::string& key : wanted.required) {
    if (std::find(found.begin(), found.end(), key) == found.end()) missing.push_back(key);
  }
  if (missing.empty()) return;
  throw UsageError("--", dictionary, ": ", wanted.owner, " requires ", join(wanted.required, ", "),
                   "; got ", found.empty() ? "no keys" : join(found, ", "), "; missing ",
                   join(missing, ", "));
}

}  // namespace pando
