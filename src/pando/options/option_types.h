// The types an option can have: how text becomes a value, how a value becomes text, and how a
// message describes an expected value.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/options/config_value.h"
#include "pando/options/fraction.h"

namespace pando {

// true, t, 1, yes, y, on / false, f, 0, no, n, off in any case.
std::optional<bool> parse_bool(std::string_view text);

// "0.5", "1e-5" or "1/2"; only finite numbers.
std::optional<double> parse_real(std::string_view text);

// Returns lists and maps unchanged; a scalar becomes a list of one item, "a,b" and "[a, b]" become
// lists of two, null becomes an empty list. `label` names the place in messages about bad YAML.
ConfigValue as_list(const ConfigValue& value, const std::string& label);

// OptionType<T>::read returns false and does not change `field` if the value does not fit the type.
// kWanted describes expected values in messages.
template <typename T>
struct OptionType;

template <>
struct OptionType<bool> {
  static constexpr const char* kWanted = "true or false";
  static bool read(const ConfigValue& value, bool& field);
  static ConfigValue show(bool field) { return ConfigValue::scalar(field ? "true" : "false"); }
};

template <>
struct OptionType<int64_t> {
  static constexpr const char* kWanted = "a whole number";
  static bool read(const ConfigValue& value, int64_t& field);
  static ConfigValue show(int64_t field) { return ConfigValue::scalar(std::to_string(field)); }
};

template <>
struct OptionType<int> {
  static constexpr const char* kWanted = "a whole number";
  static bool read(const ConfigValue& value, int& field);
  static ConfigValue show(int field) { return ConfigValue::scalar(std::to_string(field)); }
};

template <>
struct OptionType<double> {
  static constexpr const char* kWanted = "a number or a fraction a/b";
  static bool read(const ConfigValue& value, double& field);
  static ConfigValue show(double field);
};

// Fractions are stored exactly: three times 1/3 of an epoch is one epoch.
template <>
struct OptionType<Fraction> {
  static constexpr const char* kWanted = "a number or a fraction a/b of numbers below 2^31";
  static bool read(const ConfigValue& value, Fraction& field);
  static ConfigValue show(const Fraction& field) { return ConfigValue::scalar(to_string(field)); }
};

template <>
struct OptionType<std::string> {
  static constexpr const char* kWanted = "text";
  static bool read(const ConfigValue& value, std::string& field);
  static ConfigValue show(const std::string& field) { return ConfigValue::scalar(field); }
};

// An optional that is not set is null: `key: ~`.
template <typename T>
struct OptionType<std::optional<T>> {
  static constexpr const char* kWanted = OptionType<T>::kWanted;
  static bool read(const ConfigValue& value, std::optional<T>& field) {
    if (value.kind == ConfigValue::Kind::null) {
      field.reset();
      return true;
    }
    T inner{};
    if (!OptionType<T>::read(value, inner)) return false;
    field = std::move(inner);
    return true;
  }
  static ConfigValue show(const std::optional<T>& field) {
    return field ? OptionType<T>::show(*field) : ConfigValue();
  }
};

// Requires: the value comes from as_list.
template <typename T>
struct OptionType<std::vector<T>> {
  static constexpr const char* kWanted = OptionType<T>::kWanted;
  static bool read(const ConfigValue& value, std::vector<T>& field) {
    std::vector<T> read_items;
    for (const ConfigValue& item : value.items) {
      T inner{};
      if (!OptionType<T>::read(item, inner)) return false;
      read_items.push_back(std::move(inner));
    }
    field = std::move(read_items);
    return true;
  }
  static ConfigValue show(const std::vector<T>& field) {
    std::vector<ConfigValue> items;
    for (const T& item : field) items.push_back(OptionType<T>::show(item));
    return ConfigValue::list(std::move(items));
  }
};

// The first number that a type cannot hold; messages name it where an option has no bound of its
// own.
template <typename T>
inline constexpr const char* kTypeLimit = "";
template <>
inline constexpr const char* kTypeLimit<int> = "2^31";
template <>
inline constexpr const char* kTypeLimit<int64_t> = "2^63";
template <typename T>
inline constexpr const char* kTypeLimit<std::optional<T>> = kTypeLimit<T>;
template <typename T>
inline constexpr const char* kTypeLimit<std::vector<T>> = kTypeLimit<T>;

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsList<std::optional<T>> = kIsList<T>;

}  // namespace pando
