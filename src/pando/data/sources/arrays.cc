// SPDX-License-Identifier: MIT
#include "pando/data/sources/arrays.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "pando/base/multiversion.h"

namespace pando {

namespace {

std::vector<Field> fields_of(const std::vector<ArrayField>& arrays) {
  std::vector<Field> fields;
  for (const ArrayField& array : arrays) {
    const std::vector<int64_t>& dims = array.values.shape().dims();
    if (dims.empty()) {
      throw InvalidArgument("array '", array.name,
                            "' is a single number, expected one row per sample");
    }
    if (array.scale && array.values.dtype() != DType::u8) {
      throw InvalidArgument("array '", array.name, "' holds ", to_string(array.values.dtype()),
                            "; only u8 can be scaled");
    }
    if (dims[0] != arrays[0].values.shape()[0]) {
      throw InvalidArgument("array '", array.name, "' has ", dims[0], " samples ",
                            array.values.shape(), ", but '", arrays[0].name, "' has ",
                            arrays[0].values.shape()[0], " ", arrays[0].values.shape());
    }
    fields.push_back({array.name, array.scale ? DType::f32 : array.values.dtype(),
                      Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()))});
  }
  return fields;
}

// fields_of() refuses arrays without rows; this function only has to return something for them.
int64_t rows_of(const std::vector<ArrayField>& arrays) {
  if (arrays.empty() || arrays[0].values.shape().rank() == 0) return 0;
  return arrays[0].values.shape()[0];
}

// Both pointers are restricted, so that the compiler vectorises without a run-time check.
PANDO_MULTIVERSION void convert_scaled(const uint8_t* __restrict from, float* __restrict to,
                                       size_t count, float scale) {
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale;
}

class ArraySource : public DataSource {
 public:
  explicit ArraySource(std::vector<ArrayField> arrays)
      : DataSource(fields_of(arrays), rows_of(arrays)), arrays_(std::move(arrays)) {}

  void gather(int64_t /*epoch*/, std::span<int64_t> indices, const Rows& rows) const override {
    for (size_t f = 0; f < arrays_.size(); ++f) {
      const Tensor& values = arrays_[f].values;
      const auto count = static_cast<size_t>(fields()[f].shape.elements());
      const size_t stored = count * size_of(values.dtype());
      const size_t written = count * size_of(fields()[f].dtype);
      for (size_t i = 0; i < indices.size(); ++i) {
        const std::byte* from = values.data() + static_cast<size_t>(indices[i]) * stored;
        std::byte* to = rows.at(f, static_cast<int64_t>(i), written);
        if (arrays_[f].scale) {
          convert_scaled(reinterpret_cast<const uint8_t*>(from), reinterpret_cast<float*>(to),
                         count, *arrays_[f].scale);
        } else {
          std::memcpy(to, from, stored);
        }
      }
    }
  }

 private:
  std::vector<ArrayField> arrays_;
};

}  // namespace

Dataset from_arrays(std::vector<ArrayField> arrays) {
  return Dataset(std::make_shared<ArraySource>(std::move(arrays)));
}

namespace data {

Tensor rows_with_label(const Tensor& rows, std::span<const int32_t> labels) {
  PANDO_CHECK(rows.shape()[0] == std::ssize(labels));
  std::vector<int64_t> dims = rows.shape().dims();
  const size_t bytes = labels.empty() ? 0 : rows.bytes() / labels.size();
  dims[0] = std::ranges::count_if(labels, [](int32_t label) { return label >= 0; });
  Tensor kept(rows.dtype(), Shape(std::move(dims)));
  std::byte* to = kept.data();
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= 0) to = std::copy_n(rows.data() + i * bytes, bytes, to);
  }
  return kept;
}

}  // namespace data

}  // namespace pando
