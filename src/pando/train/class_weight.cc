// SPDX-License-Identifier: MIT
#include "pando/train/class_weight.h"

#include <algorithm>
#include <cmath>

#include "pando/base/error.h"
#include "pando/train/wiring.h"

namespace pando::train {

namespace {

std::vector<float> by_number(const Network& network, const std::map<int64_t, double>& weights) {
  const Shape& output = network.outputs()[0].shape;
  if (network.outputs().size() != 1 || output.rank() != 1) {
    throw InvalidArgument("class_weight: expected a network with one output of one number per ",
                          "class, got ", network.outputs().size(), " outputs, the first ", output,
                          "; give samples weights of their own");
  }
  std::vector<float> all(static_cast<size_t>(output[0]), 1.0f);
  for (const auto& [number, weight] : weights) {
    if (number < 0 || number >= output[0]) {
      throw InvalidArgument("class_weight: expected classes 0 to ", output[0] - 1, ", got ",
                            number);
    }
    if (!(weight >= 0 && std::isfinite(weight))) {
      throw InvalidArgument("class_weight: class ", number,
                            ": expected a finite number of 0 or more, got ", weight);
    }
    all[static_cast<size_t>(number)] = static_cast<float>(weight);
  }
  return all;
}

// The class of a sample; -1 for a number that is no class, which other checks refuse.
int64_t class_of(const SampleView& sample, size_t labels, size_t classes) {
  const Field& field = sample.fields()[labels];
  if (field.dtype == DType::i32) {
    const int32_t number = sample.i32(labels)[0];
    return number >= 0 && number < static_cast<int64_t>(classes) ? number : -1;
  }
  const std::span<const float> row = sample.f32(labels);
  return std::max_element(row.begin(), row.end()) - row.begin();
}

}  // namespace

Dataset with_class_weight(const Dataset& data, const Network& network,
                          const std::map<int64_t, double>& weights) {
  if (weights.empty()) return data;
  const std::vector<float> all = by_number(network, weights);
  Dataset weighted = data;
  if (wire(network, data.fields()).outputs[0].weights < 0) {
    weighted = data.add_field({"sample_weight", DType::f32, {}},
                              [](const SampleView& sample) { sample.f32(0)[0] = 1; });
  }
  const Wiring::Output output = wire(network, weighted.fields()).outputs[0];
  if (output.labels < 0) {
    throw InvalidArgument("class_weight: the data has no labels: fields are ",
                          to_string(data.fields()));
  }
  const auto labels = static_cast<size_t>(output.labels);
  const auto weight = static_cast<size_t>(output.weights);
  return weighted.map_in_place([all, labels, weight](const SampleView& sample) {
    const int64_t number = class_of(sample, labels, all.size());
    if (number >= 0) sample.f32(weight)[0] *= all[static_cast<size_t>(number)];
  });
}

}  // namespace pando::train
