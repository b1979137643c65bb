// SPDX-License-Identifier: MIT
#include "pando/nn/initializers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pando/base/error.h"
#include "pando/base/random.h"

namespace pando {

Tensor Initializer::make(const Shape& shape, uint64_t key) const {
  PANDO_CHECK(fill_, "the initializer is empty");
  Tensor tensor(DType::f32, shape);
  fill_(shape, tensor.f32(), key);
  return tensor;
}

Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double receptive = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) receptive *= static_cast<double>(shape[axis]);
  return {receptive * static_cast<double>(shape[shape.rank() - 2]),
          receptive * static_cast<double>(shape[shape.rank() - 1])};
}

namespace {

double fan(const Fans& fans, FanMode mode) {
  switch (mode) {
    case FanMode::in: return fans.in;
    case FanMode::out: return fans.out;
    case FanMode::average: return (fans.in + fans.out) / 2;
  }
  return 1;
}

constexpr double kMostOfWeights = std::numeric_limits<float>::max();

// The standard deviation of a standard normal distribution truncated at -2 and 2.
constexpr double kTruncatedDeviation = 0.87962566103423978;

void fill_scaled(const VarianceScalingOptions& options, const Shape& shape, std::span<float> values,
                 uint64_t key) {
  const double variance = options.scale / std::max(1.0, fan(fans_of(shape), options.mode));
  RandomStream random(key);
  const auto fill = [&](double factor, const auto& draw) {
    for (float& value : values) value = static_cast<float>(factor * draw());
  };
  switch (options.distribution) {
    case Distribution::uniform:
      return fill(std::sqrt(3 * variance),
                  [&] { return 2 * static_cast<double>(random.next_uniform()) - 1; });
    case Distribution::normal:
      return fill(std::sqrt(variance), [&] { return static_cast<double>(random.next_normal()); });
    case Distribution::truncated_normal:
      return fill(std::sqrt(variance) / kTruncatedDeviation,
                  [&] { return static_cast<double>(random.next_truncated_normal()); });
  }
}

Initializer scaled(std::string name, VarianceScalingOptions options) {
  if (!(options.scale > 0 && options.scale <= kMostOfWeights)) {
    throw InvalidArgument(name, ": scale: expected a number above 0 that 32 bits can hold, got ",
                          options.scale);
  }
  return {std::move(name), [options](const Shape& shape, std::span<float> values, uint64_t key) {
            fill_scaled(options, shape, values, key);
          }};
}

}  // namespace

Initializer VarianceScaling(VarianceScalingOptions options) {
  return scaled("variance_scaling", options);
}
Initializer GlorotUniform() {
  return scaled("glorot_uniform", {1, FanMode::average, Distribution::uniform});
}
Initializer GlorotNormal() {
  return scaled("glorot_normal", {1, FanMode::average, Distribution::truncated_normal});
}
Initializer HeUniform() { return scaled("he_uniform", {2, FanMode::in, Distribution::uniform}); }
Initializer HeNormal() {
  return scaled("he_normal", {2, FanMode::in, Distribution::truncated_normal});
}
Initializer LecunUniform() {
  return scaled("lecun_uniform", {1, FanMode::in, Distribution::uniform});
}
Initializer LecunNormal() {
  return scaled("lecun_normal", {1, FanMode::in, Distribution::truncated_normal});
}

Initializer Zeros() { return Constant(0); }
Initializer Ones() { return Constant(1); }
Initializer Constant(double value) {
  if (!(std::abs(value) <= kMostOfWeights)) {
    throw InvalidArgument("Constant: value: expected a number that 32 bits can hold, got ", value);
  }
  return {concat("constant(", value, ")"),
          [value](const Shape&, std::span<float> values, uint64_t) {
            std::fill(values.begin(), values.end(), static_cast<float>(value));
          }};
}

}  // namespace pando
