// Reads the values of spec_reader_impl.h.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/benchmark/spec_reader_impl.h"
#include "pando/options/option_types.h"
#include "pando/options/usage_error.h"

namespace pando::benchmark {
namespace {

using Kind = ConfigValue::Kind;

const char* kind_text(const ConfigValue& value) {
  switch (value.kind) {
    case Kind::null: return "nothing";
    case Kind::scalar: return "text";
    case Kind::list: return "a list";
    case Kind::map: return "a map";
  }
  return "";
}

std::vector<std::string> read_row(const ConfigValue& row, const std::string& what) {
  if (row.kind != Kind::list) {
    throw UsageError(row.place, ": ", what, ": expected a list, got ", kind_text(row));
  }
  std::vector<std::string> words;
  for (const ConfigValue& item : row.items) words.push_back(read_text(item, what));
  return words;
}

// "1,32" or [1, 32].
std::vector<std::string> read_choices(const ConfigValue& value, const std::string& name) {
  if (value.kind == Kind::list && value.items.empty()) {
    throw UsageError(value.place, ": ", name, ": expected at least one value, got an empty list");
  }
  if (value.kind == Kind::list) return read_row(value, name);
  std::vector<std::string> words;
  for (const std::string& word : split(read_text(value, name), ',')) {
    words.emplace_back(trim(word));
  }
  return words;
}

void expect_plain_name(const std::string& name, const std::string& place) {
  const bool is_plain = !name.empty() && name.find_first_of("{}:![]") == std::string::npos;
  if (!is_plain) throw UsageError(place, ": '", name, "' cannot be the name of a parameter");
}

bool read_better(const ConfigValue& map, const std::string& name) {
  const ConfigValue* value = find_set(map, "better");
  if (value == nullptr) return is_lower_better(name);
  const std::string text = read_text(*value, "better");
  if (text != "lower" && text != "higher") {
    throw UsageError(value->place, ": better: expected lower or higher, got '", text, "'");
  }
  return text == "lower";
}

int read_skip(const ConfigValue& map) {
  const ConfigValue* value = find_set(map, "skip");
  int skip = 0;
  if (value != nullptr && (!OptionType<int>::read(*value, skip) || skip < 0)) {
    throw UsageError(value->place, ": skip: expected a whole number, 0 or more, got '",
                     to_yaml(*value), "'");
  }
  return skip;
}

std::string read_required(const ConfigValue& map, const std::string& key, const std::string& name) {
  const ConfigValue* value = find_set(map, key);
  if (value == nullptr) throw UsageError(map.place, ": '", name, "' has no ", key);
  return read_text(*value, key);
}

Metric read_metric(const std::string& name, const ConfigValue& map) {
  expect_map(map, name);
  check_keys(map, {"regexp", "skip", "reduction_type", "better"});
  Metric metric{.name = name, .regexp = read_required(map, "regexp", name)};
  metric.pattern = std::make_shared<const Pattern>(metric.regexp, map.find("regexp")->place);
  metric.skip = read_skip(map);
  const ConfigValue* type = find_set(map, "reduction_type");
  metric.reduction = type == nullptr ? &reduction("mean", "")
                                     : &reduction(read_text(*type, "reduction_type"), type->place);
  metric.lower_is_better = read_better(map, name);
  return metric;
}

DerivedMetric read_derived(const std::string& name, const ConfigValue& map) {
  expect_map(map, name);
  check_keys(map, {"expr", "reduction_type", "skip", "better"});
  DerivedMetric metric{.name = name, .expr = read_required(map, "expr", name)};
  if (const ConfigValue* type = find_set(map, "reduction_type")) {
    metric.reduction = reduction(read_text(*type, "reduction_type"), type->place).name;
  }
  metric.lower_is_better = read_better(map, name);
  return metric;
}

}  // namespace

void check_keys(const ConfigValue& map, const std::vector<std::string>& known) {
  for (size_t i = 0; i < map.keys.size(); ++i) {
    if (std::find(known.begin(), known.end(), map.keys[i]) != known.end()) continue;
    throw UsageError(map.items[i].place, ": ", unknown_name_message("key", map.keys[i], known));
  }
}

void expect_map(const ConfigValue& value, const std::string& what) {
  if (value.kind == Kind::map) return;
  throw UsageError(value.place, ": ", what, ": expected keys with values, got ", kind_text(value));
}

std::string read_text(const ConfigValue& value, const std::string& what) {
  if (value.kind == Kind::scalar) return value.text;
  throw UsageError(value.place, ": ", what, ": expected text, got ", kind_text(value));
}

bool read_truth(const ConfigValue& value, const std::string& what) {
  bool truth = false;
  if (OptionType<bool>::read(value, truth)) return truth;
  throw UsageError(value.place, ": ", what, ": expected true or false, got ", to_yaml(value));
}

const ConfigValue* find_set(const ConfigValue& map, const std::string& key) {
  const ConfigValue* value = map.find(key);
  return value == nullptr || value->kind == Kind::null ? nullptr : value;
}

Parameters read_parameters(const ConfigValue& value) {
  Parameters parameters;
  if (value.kind == Kind::list) {
    for (const ConfigValue& item : value.items) {
      std::vector<std::string> row = read_row(item, "parameters");
      if (&item == &value.items.front()) {
        parameters.names = std::move(row);
        continue;
      }
      if (row.size() != parameters.names.size()) {
        throw UsageError(item.place, ": parameters: expected ", parameters.names.size(),
                         " values, as many as names in the first row, got ", row.size());
      }
      parameters.rows.push_back(std::move(row));
    }
    if (parameters.rows.empty()) {
      throw UsageError(value.place, ": parameters: expected rows of values below the names");
    }
  } else {
    if (value.kind != Kind::map) {
      throw UsageError(value.place,
                       ": parameters: expected a list of rows, names first, or names "
                       "with their values, got ",
                       kind_text(value));
    }
    parameters.names = value.keys;
    for (size_t i = 0; i < value.keys.size(); ++i) {
      parameters.choices.push_back(read_choices(value.items[i], value.keys[i]));
    }
  }
  for (const std::string& name : parameters.names) expect_plain_name(name, value.place);
  return parameters;
}

Metrics read_metrics(const ConfigValue& entry) {
  Metrics metrics;
  if (const ConfigValue* data = find_set(entry, "data")) {
    expect_map(*data, "data");
    for (size_t i = 0; i < data->keys.size(); ++i) {
      metrics.data.push_back(read_metric(data->keys[i], data->items[i]));
    }
  }
  if (const ConfigValue* derived = find_set(entry, "derived")) {
    expect_map(*derived, "derived");
    for (size_t i = 0; i < derived->keys.size(); ++i) {
      metrics.derived.push_back(read_derived(derived->keys[i], derived->items[i]));
    }
  }
  return metrics;
}

}  // namespace pando::benchmark
