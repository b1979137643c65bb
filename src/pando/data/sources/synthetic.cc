// SPDX-License-Identifier: MIT
#include "pando/data/sources/synthetic.h"

#include <algorithm>
#include <utility>

#include "pando/base/random.h"

namespace pando {

namespace {

Tensor normal_rows(int64_t rows, const Shape& shape, uint64_t key) {
  std::vector<int64_t> dims = {rows};
  dims.insert(dims.end(), shape.begin(), shape.end());
  Tensor tensor(DType::f32, Shape(std::move(dims)));
  RandomStream random(key);
  for (float& value : tensor.f32()) value = random.next_normal();
  return tensor;
}

Tensor label_rows(int64_t rows, int64_t classes, uint64_t key) {
  Tensor tensor(DType::i32, {rows});
  RandomStream random(key);
  for (int32_t& value : tensor.i32()) {
    value = static_cast<int32_t>(random.next_below(static_cast<uint64_t>(classes)));
  }
  return tensor;
}

}  // namespace

Dataset synthetic(const SyntheticOptions& options) {
  if (options.size < 1 || options.distinct < 1 || options.classes < 0) {
    throw InvalidArgument(
        "synthetic data: expected size and distinct of at least 1 and classes of at "
        "least 0, got size ",
        options.size, ", distinct ", options.distinct, ", classes ", options.classes);
  }
  const int64_t rows = std::min(options.size, options.distinct);
  Tensor x = normal_rows(rows, options.x_shape, mix_keys(options.seed, 0));
  const uint64_t y_key = mix_keys(options.seed, 1);
  Tensor y = options.classes > 0 ? label_rows(rows, options.classes, y_key)
                                 : normal_rows(rows, options.y_shape, y_key);
  const int64_t rounds = (options.size - 1) / rows + 1;
  return Dataset::from_tensors(std::move(x), std::move(y)).repeat(rounds).take(options.size);
}

}  // namespace pando
