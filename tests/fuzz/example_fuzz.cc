// Reads any bytes as a tf.train.Example. Expects an IoError, or features that stay the same after
// encoding and decoding.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "pando/base/error.h"
#include "pando/data/tfrecord/example.h"
#include "tests/fuzz/targets.h"

namespace pando {
namespace {

using Bytes = std::vector<uint8_t>;

// Compares bytes, because NaN is not equal to itself.
Bytes bytes_of(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  const auto* first = reinterpret_cast<const uint8_t*>(bytes.data());
  return {first, first + bytes.size()};
}

void copy_feature(const Example& from, const std::string& key, ExampleBuilder& to) {
  switch (from.kind(key)) {
    case FeatureKind::none: break;
    case FeatureKind::bytes: {
      std::vector<Bytes> values;
      for (const auto& value : from.bytes_list(key))
        values.emplace_back(value.begin(), value.end());
      to.bytes_list(key, std::move(values));
      break;
    }
    case FeatureKind::floats:
      to.floats(key, {from.floats(key).begin(), from.floats(key).end()});
      break;
    case FeatureKind::ints: to.ints(key, {from.ints(key).begin(), from.ints(key).end()}); break;
  }
}

bool same_feature(const Example& a, const Example& b, const std::string& key) {
  if (a.kind(key) == FeatureKind::none) return !b.has(key);
  if (a.kind(key) != b.kind(key)) return false;
  if (a.kind(key) == FeatureKind::floats) return bytes_of(a.floats(key)) == bytes_of(b.floats(key));
  if (a.kind(key) == FeatureKind::ints) return std::ranges::equal(a.ints(key), b.ints(key));
  return std::ranges::equal(a.bytes_list(key), b.bytes_list(key),
                            [](auto x, auto y) { return std::ranges::equal(x, y); });
}

void decode_and_encode(fuzz::Input input) {
  const Example first(input, "input");
  ExampleBuilder builder;
  for (const std::string& key : first.keys()) copy_feature(first, key, builder);
  const Bytes encoded = builder.encode();
  const Example second(encoded, "encoded");
  for (const std::string& key : first.keys()) PANDO_CHECK(same_feature(first, second, key));
}

}  // namespace
}  // namespace pando

void pando::fuzz::example(Input input) {
  try {
    decode_and_encode(input);
  } catch (const IoError&) {
  }
}
