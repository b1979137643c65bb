// A data set whose samples show their index: x = [i, 10 i], y = i.
// SPDX-License-Identifier: MIT
#pragma once

#include <numeric>
#include <vector>

#include "pando/data/dataset.h"

namespace pando {

inline Dataset counting(int64_t size) {
  Tensor x(DType::f32, {size, 2});
  Tensor y(DType::i32, {size});
  for (int64_t i = 0; i < size; ++i) {
    x.f32()[static_cast<size_t>(2 * i)] = static_cast<float>(i);
    x.f32()[static_cast<size_t>(2 * i + 1)] = static_cast<float>(10 * i);
    y.i32()[static_cast<size_t>(i)] = static_cast<int32_t>(i);
  }
  return Dataset::from_tensors(std::move(x), std::move(y));
}

// The labels of the real samples of a batch, of a whole set, and of the rest of a stream.
inline std::vector<int32_t> labels(const Batch& batch) {
  const auto y = batch.y().i32();
  return {y.begin(), y.begin() + batch.valid};
}

inline std::vector<int32_t> labels(const Dataset& dataset, int64_t epoch = 0) {
  std::vector<int32_t> result;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    result.push_back(dataset.get(i, epoch).y().i32()[0]);
  }
  return result;
}

inline std::vector<int32_t> rest_of(BatchStream& stream) {
  std::vector<int32_t> result;
  Batch batch;
  while (stream.next(batch)) {
    for (const int32_t label : labels(batch)) result.push_back(label);
  }
  return result;
}

inline std::vector<int32_t> up_to(int32_t count) {
  std::vector<int32_t> result(static_cast<size_t>(count));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

}  // namespace pando
