// Initial values of weights, as in Keras, from the counter-based generator: the values of a weight
// depend on the seed and its name, not on the order in which weights are made.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "pando/tensor/tensor.h"

namespace pando {

// Fills a tensor under a key. Immutable; cheap to copy.
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

// Which neighbours of a weight its variance is scaled by.
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

// Inputs and outputs of one unit of a kernel: [in, out], or [spatial..., in, out].
struct Fans {
  double in = 1;
  double out = 1;
};
Fans fans_of(const Shape& shape);

}  // namespace pando
