// Reads any bytes as a YAML document. What was read is written and read again. Expects the same
// value or a UsageError.
// SPDX-License-Identifier: MIT
#include "pando/options/config_value.h"
#include "pando/options/usage_error.h"
#include "tests/fuzz/targets.h"

namespace pando {
namespace {

// Values with many anchors grow; writing them would only take time.
size_t count_values(const ConfigValue& value) {
  size_t count = 1;
  for (const ConfigValue& item : value.items) count += count_values(item);
  return count;
}

}  // namespace
}  // namespace pando

void pando::fuzz::yaml(Input input) {
  ConfigValue value;
  try {
    value = parse_yaml(std::string(input.begin(), input.end()), "input");
  } catch (const UsageError&) {
    return;
  }
  if (count_values(value) > 2000) return;
  const std::string written = to_yaml(value);
  PANDO_CHECK(to_yaml(parse_yaml(written, "written")) == written);
}
