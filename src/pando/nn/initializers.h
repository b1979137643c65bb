// Initial values of weights, as in Keras. They come from a counter-based generator: the values of a
// weight depend on the seed and its name, not on the order in which weights are created.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "pando/tensor/tensor.h"

namespace pando {

// Fills a tensor with values that depend only on a key. Immutable; cheap to copy.
class Initializer {
 public:
  using Fill = std::function<void(const Shape& shape, std::span<float> values, uint64_t key)>;

  Initializer() = default;
  Initializer(std::string name, Fill fill) : name_(std::move(name)), fill_(std::move(fill)) {}
  explicit operator bool() const { return static_cast<bool>(fill_); }
  const std::string& name() const { return name_; }
  Tensor make(const Shape& shape, uint64_t key) const;

 private:
  std::string name_;
  Fill fill_;
};

// The fan (number of inputs, of outputs, or their average) by which the variance is divided.
enum class FanMode { in, out, average };
enum class Distribution { uniform, normal, truncated_normal };

struct VarianceScalingOptions {
  double scale = 1;
  FanMode mode = FanMode::in;
  Distribution distribution = Distribution::truncated_normal;
};

Initializer VarianceScaling(VarianceScalingOptions options = {});
Initializer GlorotUniform();
Initializer GlorotNormal();
Initializer HeUniform();
Initializer HeNormal();
Initializer LecunUniform();
Initializer LecunNormal();
Initializer Zeros();
Initializer Ones();
Initializer Constant(double value);

// The number of inputs and outputs of one unit, for weights [in, out] or [spatial..., in, out].
struct Fans {
  double in = 1;
  double out = 1;
};
Fans fans_of(const Shape& shape);

}  // namespace pando
