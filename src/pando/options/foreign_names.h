// What options are called in other programs: Keras, PyTorch and its launcher, timm, Ultralytics,
// the IPU examples. These names are not accepted; messages about them suggest our own name.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pando {

class OptionTable;
struct Option;

struct ForeignNames {
  std::string_view target;  // "seed", "dictionary.key", or "pando COMMAND --flag" of any command
  std::vector<std::string_view> names;  // in lower case, with dashes
};

// The only list. If a name occurs in several rows, the first target that a table has counts.
std::span<const ForeignNames> foreign_names();

struct ForeignTarget {
  std::string_view target;
  const Option* option = nullptr;  // in the table that was asked; null: in another command
};

// What `name` means in this table, written with dashes or underscores in any case.
std::optional<ForeignTarget> find_foreign(const OptionTable& table, std::string_view name);

// What to write instead: "--seed", "--set dictionary.key=VALUE", or without dashes (in a file)
// "seed", "dictionary: {key: VALUE}".
std::string to_text(const ForeignTarget& target, std::string_view dashes);

}  // namespace pando
