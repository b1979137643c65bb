// A value as it is written in a YAML file or on the command line, before it has a type: text, list
// or map, each with its position in the file.
// SPDX-License-Identifier: MIT
#pragma once

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

// Reads one YAML document (JSON is YAML). Anchors and merges (`<<`) are resolved; merged keys come
// last and never replace the map's own keys. Throws UsageError with `source`:line:column for bad
// syntax, a key that occurs twice or is not a scalar, a second document, or more than 100,000
// values after resolving the anchors.
ConfigValue parse_yaml(const std::string& text, const std::string& source);

// Does the same with a file, which must be readable and at most 4 MiB.
ConfigValue load_yaml(const std::string& path);

// Writes the value on one line, so that parse_yaml returns the same value again.
std::string to_yaml(const ConfigValue& value);

}  // namespace pando
