// A value as it stands in a YAML file or on the command line, before it has a type: text, list or
// map, each with its place.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pando {

struct ConfigValue {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  std::string text;                // of a scalar
  std::vector<ConfigValue> items;  // of a list, or the values of a map
  std::vector<std::string> keys;   // of a map, as many as items
  std::string place;               // "file:line:column", or empty

  static ConfigValue scalar(std::string text);
  static ConfigValue list(std::vector<ConfigValue> items);
  const ConfigValue* find(const std::string& key) const;  // nullptr when there is none
  void insert(std::string key, ConfigValue value);        // keeps the first value of a key
};

// Reads one YAML document (JSON is YAML). Anchors and merges (`<<`) are resolved, merged keys come
// last and never replace own ones. Throws UsageError with `source`:line:column for bad syntax, a
// key that occurs twice or is no scalar, a second document, more than 100,000 values after
// resolving the anchors.
ConfigValue parse_yaml(const std::string& text, const std::string& source);

// The same of a file, which must be readable and at most 4 MiB.
ConfigValue load_yaml(const std::filesystem::path& path);

// On one line, so that parse_yaml gives the same value again.
std::string to_yaml(const ConfigValue& value);

}  // namespace pando
