// tf.train.Example, the content of most record files: named features, each a list of byte strings,
// of floats or of 64-bit integers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pando {

// none: a feature without a list, which the format allows.
enum class FeatureKind { none, bytes, floats, ints };

std::string_view to_string(FeatureKind kind);  // "bytes_list", "float_list", "int64_list", ...

// A decoded example. Byte strings are views of the record, which must outlive them; numbers are
// copied. Immutable: any number of threads may read it.
//
// Stricter than protocol buffers where two readers could see different values: a key that occurs
// twice, a feature with two lists and a field of the wrong wire type are errors. Unknown fields are
// skipped, lists may be packed or not.
class Example {
 public:
  // Throws IoError, which names `place` (for example file and offset) and the byte in the record.
  explicit Example(std::span<const uint8_t> record, std::string place = "example");

  const std::string& place() const { return place_; }
  std::vector<std::string> keys() const;  // sorted
  bool has(std::string_view key) const { return find(key) != nullptr; }
  FeatureKind kind(std::string_view key) const;

  // The list of a feature. All of these throw IoError with place, key, expected and found kind; the
  // message about an unknown key lists the known ones.
  std::span<const std::span<const uint8_t>> bytes_list(std::string_view key) const;
  std::span<const float> floats(std::string_view key) const;
  std::span<const int64_t> ints(std::string_view key) const;
  // The same lists; they must have exactly `count` values.
  std::span<const float> floats(std::string_view key, size_t count) const;
  std::span<const int64_t> ints(std::string_view key, size_t count) const;
  // The only value of a list; more or none are errors.
  std::span<const uint8_t> bytes(std::string_view key) const;
  std::string_view text(std::string_view key) const;
  float number(std::string_view key) const { return floats(key, 1)[0]; }
  int64_t integer(std::string_view key) const { return ints(key, 1)[0]; }

  // The position of a kind in this list is its number in FeatureKind.
  using Feature = std::variant<std::monostate, std::vector<std::span<const uint8_t>>,
                               std::vector<float>, std::vector<int64_t>>;

 private:
  const Feature* find(std::string_view key) const;
  const Feature& at(std::string_view key, FeatureKind wanted) const;
  void check_count(std::string_view key, size_t found, size_t wanted) const;

  std::string place_;
  std::map<std::string_view, Feature> features_;
};

// Collects features and encodes them; a key that is set again is replaced. The same features give
// the same bytes: keys are sorted, numbers packed.
class ExampleBuilder {
 public:
  ExampleBuilder& bytes(std::string key, std::span<const uint8_t> value);
  ExampleBuilder& text(std::string key, std::string_view value);
  ExampleBuilder& bytes_list(std::string key, std::vector<std::vector<uint8_t>> values);
  ExampleBuilder& floats(std::string key, std::vector<float> values);
  ExampleBuilder& ints(std::string key, std::vector<int64_t> values);

  std::vector<uint8_t> encode() const;

 private:
  std::map<std::string, std::variant<std::vector<std::vector<uint8_t>>, std::vector<float>,
                                     std::vector<int64_t>>>
      features_;
};

}  // namespace pando
