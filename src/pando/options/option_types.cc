// SPDX-License-Identifier: MIT
#include "pando/options/option_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "pando/base/strings.h"

namespace pando {
namespace {

bool is_scalar(const ConfigValue& value) { return value.kind == ConfigValue::Kind::scalar; }

}  // namespace

std::optional<bool> parse_bool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"true", "t", "1", "yes", "y", "on"};
  constexpr std::array<std::string_view, 6> kFalse = {"false", "f", "0", "no", "n", "off"};
  const std::string lowered = to_lower(text);
  if (std::find(kTrue.begin(), kTrue.end(), lowered) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), lowered) != kFalse.end()) return false;
  return std::nullopt;
}

std::optional<double> parse_real(std::string_view text) {
  const size_t slash = text.find('/');
  auto number = parse_double(text.substr(0, slash));
  if (slash != std::string_view::npos) {
    const auto divisor = parse_double(text.substr(slash + 1));
    if (!number || !divisor || *divisor == 0) return std::nullopt;
    *number /= *divisor;
  }
  if (number && !std::isfinite(*number)) return std::nullopt;
  return number;
}

ConfigValue as_list(const ConfigValue& value, const std::string& label) {
  if (value.kind == ConfigValue::Kind::list || value.kind == ConfigValue::Kind::map) return value;
  ConfigValue list = ConfigValue::list({});
  if (value.kind == ConfigValue::Kind::null) return list;
  if (!value.text.empty() && value.text.front() == '[') return parse_yaml(value.text, label);
  for (const std::string& part : split(value.text, ',')) {
    const std::string_view item = trim(part);
    if (!item.empty()) list.items.push_back(ConfigValue::scalar(std::string(item)));
  }
  return list;
}

bool OptionType<bool>::read(const ConfigValue& value, bool& field) {
  const auto parsed = is_scalar(value) ? parse_bool(value.text) : std::nullopt;
  if (parsed) field = *parsed;
  return parsed.has_value();
}

bool OptionType<int64_t>::read(const ConfigValue& value, int64_t& field) {
  const auto parsed = is_scalar(value) ? parse_int(value.text) : std::nullopt;
  if (parsed) field = *parsed;
  return parsed.has_value();
}

bool OptionType<int>::read(const ConfigValue& value, int& field) {
  int64_t wide = 0;
  if (!OptionType<int64_t>::read(value, wide)) return false;
  if (wide > std::numeric_limits<int>::max() || wide < std::numeric_limits<int>::min())
    return false;
  field = static_cast<int>(wide);
  return true;
}

bool OptionType<double>::read(const ConfigValue& value, double& field) {
  const auto parsed = is_scalar(value) ? parse_real(value.text) : std::nullopt;
  if (parsed) field = *parsed;
  return parsed.has_value();
}

ConfigValue OptionType<double>::show(double field) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), field).ptr;
  return ConfigValue::scalar(std::string(text.data(), end));
}

bool OptionType<Fraction>::read(const ConfigValue& value, Fraction& field) {
  const auto parsed = is_scalar(value) ? parse_fraction(value.text) : std::nullopt;
  if (parsed) field = *parsed;
  return parsed.has_value();
}

bool OptionType<std::string>::read(const ConfigValue& value, std::string& field) {
  if (!is_scalar(value)) return false;
  field = value.text;
  return true;
}

}  // namespace pando
