// SPDX-License-Identifier: MIT
#include "pando/data/tfrecord/example.h"

#include <bit>
#include <optional>
#include <utility>

#include "pando/base/error.h"
#include "pando/data/tfrecord/wire.h"

namespace pando {

namespace {

using data::WireField;
using data::WireReader;
using data::WireType;

constexpr uint32_t kOnly = 1;  // the number of `features`, `feature` and `value` in their messages
constexpr uint32_t kKey = 1;   // the entries of a map are messages {key = 1, value = 2}
constexpr uint32_t kValue = 2;

using Bytes = std::span<const uint8_t>;
using Feature = Example::Feature;
using Features = std::map<std::string_view, Feature>;

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A key for error messages, as one readable line.
std::string quoted(std::string_view key) {
  constexpr size_t kMost = 100;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "'";
  for (const char c : key.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text + (key.size() > kMost ? "...'" : "'");
}

[[noreturn]] void fail_type(const WireReader& reader, const WireField& field,
                            std::string_view wanted) {
  reader.fail(field, concat("field ", field.number, " is a ", to_string(field.type), ", expected ",
                            wanted));
}

std::vector<Bytes> read_bytes_list(WireReader list) {
  std::vector<Bytes> values;
  while (const auto field = list.next()) {
    if (field->number != kOnly) continue;
    if (field->type != WireType::bytes) fail_type(list, *field, "bytes");
    values.push_back(field->bytes);
  }
  return values;
}

std::vector<float> read_float_list(WireReader list) {
  std::vector<float> values;
  while (const auto field = list.next()) {
    if (field->number != kOnly) continue;
    if (field->type == WireType::fixed32) {
      values.push_back(std::bit_cast<float>(static_cast<uint32_t>(field->value)));
      continue;
    }
    if (field->type != WireType::bytes) fail_type(list, *field, "fixed32 or packed floats");
    if (field->bytes.size() % 4 != 0) {
      list.fail(*field, concat("packed floats have ", field->bytes.size(),
                               " bytes, expected a multiple of 4"));
    }
    values.reserve(values.size() + field->bytes.size() / 4);
    for (WireReader packed = list.inside(*field); !packed.at_end();) {
      values.push_back(std::bit_cast<float>(packed.fixed32()));
    }
  }
  return values;
}

std::vector<int64_t> read_int64_list(WireReader list) {
  std::vector<int64_t> values;
  while (const auto field = list.next()) {
    if (field->number != kOnly) continue;
    if (field->type == WireType::varint) {
      values.push_back(static_cast<int64_t>(field->value));
      continue;
    }
    if (field->type != WireType::bytes) fail_type(list, *field, "varint or packed integers");
    for (WireReader packed = list.inside(*field); !packed.at_end();) {
      values.push_back(static_cast<int64_t>(packed.varint()));
    }
  }
  return values;
}

void read_feature(WireReader reader, std::string_view key, Feature& feature) {
  while (const auto field = reader.next()) {
    if (field->number < 1 || field->number > 3) continue;
    if (feature.index() != 0) {
      reader.fail(*field, concat("feature ", quoted(key), " has a second list, expected one"));
    }
    const WireReader list = reader.inside(*field);
    if (field->number == 1) feature = read_bytes_list(list);
    if (field->number == 2) feature = read_float_list(list);
    if (field->number == 3) feature = read_int64_list(list);
  }
}

// The key may follow the value, and either may be missing.
void read_entry(const WireReader& features_reader, const WireField& entry_field,
                Features& features) {
  WireReader entry = features_reader.inside(entry_field);
  std::optional<std::string_view> key;
  std::optional<WireReader> value;
  while (const auto field = entry.next()) {
    if (field->number != kKey && field->number != kValue) continue;
    if (field->type != WireType::bytes) fail_type(entry, *field, "bytes");
    if (field->number == kKey ? key.has_value() : value.has_value()) {
      entry.fail(*field, "a feature has two keys or two values, expected one");
    }
    if (field->number == kKey) {
      key = as_text(field->bytes);
    } else {
      value.emplace(entry.inside(*field));
    }
  }
  const auto [place, is_new] = features.try_emplace(key.value_or(std::string_view()));
  if (!is_new) {
    entry.fail(entry_field,
               concat("feature ", quoted(place->first), " occurs twice, expected once"));
  }
  if (value) read_feature(*value, place->first, place->second);
}

void read_features(WireReader reader, Features& features) {
  while (const auto field = reader.next()) {
    if (field->number == kOnly) read_entry(reader, *field, features);
  }
}

FeatureKind kind_of(const Feature& feature) { return static_cast<FeatureKind>(feature.index()); }

std::string with_article(FeatureKind kind) {
  return concat(kind == FeatureKind::ints ? "an " : "a ", to_string(kind));
}

}  // namespace

std::string_view to_string(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::none: return "feature without a list";
    case FeatureKind::bytes: return "bytes_list";
    case FeatureKind::floats: return "float_list";
    case FeatureKind::ints: return "int64_list";
  }
  return "?";
}

Example::Example(std::span<const uint8_t> record, std::string place) : place_(std::move(place)) {
  WireReader reader(record, place_);
  while (const auto field = reader.next()) {
    if (field->number == kOnly) read_features(reader.inside(*field), features_);
  }
}

std::vector<std::string> Example::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, feature] : features_) keys.emplace_back(key);
  return keys;
}

const Feature* Example::find(std::string_view key) const {
  const auto place = features_.find(key);
  return place != features_.end() ? &place->second : nullptr;
}

FeatureKind Example::kind(std::string_view key) const {
  const Feature* feature = find(key);
  return feature != nullptr ? kind_of(*feature) : kind_of(at(key, FeatureKind::none));
}

const Feature& Example::at(std::string_view key, FeatureKind wanted) const {
  const Feature* feature = find(key);
  if (feature == nullptr) {
    std::vector<std::string> known;
    for (const auto& [name, one] : features_) known.push_back(quoted(name));
    throw IoError(place_, ": no feature ", quoted(key),
                  wanted == FeatureKind::none ? "" : concat(", expected ", with_article(wanted)),
                  "; known features: ", known.empty() ? "none" : join(known, ", "));
  }
  if (kind_of(*feature) != wanted) {
    throw IoError(place_, ": feature ", quoted(key), " is ", with_article(kind_of(*feature)),
                  ", expected ", with_article(wanted));
  }
  return *feature;
}

std::span<const Bytes> Example::bytes_list(std::string_view key) const {
  return std::get<std::vector<Bytes>>(at(key, FeatureKind::bytes));
}

std::span<const float> Example::floats(std::string_view key) const {
  return std::get<std::vector<float>>(at(key, FeatureKind::floats));
}

std::span<const int64_t> Example::ints(std::string_view key) const {
  return std::get<std::vector<int64_t>>(at(key, FeatureKind::ints));
}

void Example::check_count(std::string_view key, size_t found, size_t wanted) const {
  if (found == wanted) return;
  throw IoError(place_, ": feature ", quoted(key), " has ", found,
                found == 1 ? " value" : " values", ", expected ", wanted);
}

std::span<const float> Example::floats(std::string_view key, size_t count) const {
  check_count(key, floats(key).size(), count);
  return floats(key);
}

std::span<const int64_t> Example::ints(std::string_view key, size_t count) const {
  check_count(key, ints(key).size(), count);
  return ints(key);
}

Bytes Example::bytes(std::string_view key) const {
  check_count(key, bytes_list(key).size(), 1);
  return bytes_list(key)[0];
}

std::string_view Example::text(std::string_view key) const { return as_text(bytes(key)); }

namespace {

using data::append_message;
using data::append_text;
using Encoded = std::vector<uint8_t>;

Encoded encode_list(const std::vector<std::vector<uint8_t>>& values) {
  Encoded list;
  for (const auto& value : values) append_message(list, kOnly, value);
  return list;
}

// An empty list has no packed field at all, as protocol buffers write it.
Encoded encode_list(const std::vector<float>& values) {
  Encoded list;
  if (values.empty()) return list;
  data::append_floats(list, kOnly, values);
  return list;
}

Encoded encode_list(const std::vector<int64_t>& values) {
  Encoded packed;
  for (const int64_t value : values) data::append_varint(packed, static_cast<uint64_t>(value));
  Encoded list;
  if (!values.empty()) append_message(list, kOnly, packed);
  return list;
}

Encoded encode_entry(const std::string& key, uint32_t kind, const Encoded& list) {
  Encoded feature;
  append_message(feature, kind, list);
  Encoded entry;
  append_text(entry, kKey, key);
  append_message(entry, kValue, feature);
  return entry;
}

}  // namespace

ExampleBuilder& ExampleBuilder::bytes(std::string key, std::span<const uint8_t> value) {
  return bytes_list(std::move(key), {std::vector<uint8_t>(value.begin(), value.end())});
}

ExampleBuilder& ExampleBuilder::text(std::string key, std::string_view value) {
  return bytes_list(std::move(key), {std::vector<uint8_t>(value.begin(), value.end())});
}

ExampleBuilder& ExampleBuilder::bytes_list(std::string key,
                                           std::vector<std::vector<uint8_t>> values) {
  features_[std::move(key)] = std::move(values);
  return *this;
}

ExampleBuilder& ExampleBuilder::floats(std::string key, std::vector<float> values) {
  features_[std::move(key)] = std::move(values);
  return *this;
}

ExampleBuilder& ExampleBuilder::ints(std::string key, std::vector<int64_t> values) {
  features_[std::move(key)] = std::move(values);
  return *this;
}

std::vector<uint8_t> ExampleBuilder::encode() const {
  Encoded features;
  for (const auto& [key, list] : features_) {
    const auto kind = static_cast<uint32_t>(list.index() + 1);
    const Encoded encoded =
        std::visit([](const auto& values) { return encode_list(values); }, list);
    append_message(features, kOnly, encode_entry(key, kind, encoded));
  }
  Encoded example;
  append_message(example, kOnly, features);
  return example;
}

}  // namespace pando
