// SPDX-License-Identifier: MIT
#include "pando/train/class_weight.h"

#include <algorithm>
#include <cmath>

#include "pando/base/error.h"
#include "pando/train/wiring.h"

namespace pando::train {

namespace {

// The weights of all classes of one output.
struct WeightedClasses {
  std::string where;           // begins messages
  std::vector<float> weights;  // by class
  bool of_ones = false;        // a single number: class 1 or 0

  // The class of a sample; -1 for a number that is not a class, which other checks refuse.
  int64_t class_of(const SampleView& sample, size_t labels) const {
    if (sample.fields()[labels].dtype == DType::i32) {
      const int32_t number = sample.i32(labels)[0];
      return number >= 0 && number < std::ssize(weights) ? number : -1;
    }
    const std::span<const float> row = sample.f32(labels);
    if (!of_ones) return std::max_element(row.begin(), row.end()) - row.begin();
    if (row[0] == 0 || row[0] == 1) return row[0] == 1 ? 1 : 0;
    throw InvalidArgument(where, "expected labels 0 or 1 for one number, got ", row[0]);
  }
};

WeightedClasses by_number(const NetworkOutput& output, const std::map<int64_t, double>& weights) {
  const std::string where = concat("class_weight: output '", output.name, "': ");
  if (output.shape.rank() != 1) {
    throw InvalidArgument(where, "expected one number per class, got ", output.shape,
                          "; give samples weights of their own");
  }
  const bool of_ones = output.shape[0] == 1;
  const int64_t classes = of_ones ? 2 : output.shape[0];
  WeightedClasses all{where, std::vector<float>(static_cast<size_t>(classes), 1.0f), of_ones};
  for (const auto& [number, weight] : weights) {
    if (number < 0 || number >= classes) {
      throw InvalidArgument(where, "expected classes 0 to ", classes - 1, ", got ", number);
    }
    if (!(weight >= 0 && std::isfinite(static_cast<float>(weight)))) {
      throw InvalidArgument(where, "class ", number,
                            ": expected a finite number of 0 or more, got ", weight);
    }
    all.weights[static_cast<size_t>(number)] = static_cast<float>(weight);
  }
  return all;
}

// An output whose weights other outputs use too, or that has none, gets a field of its own.
Dataset weigh(const Dataset& data, const Network& network, size_t output,
              const WeightedClasses& classes) {
  const Wiring before = wire(network, data.fields());
  const int labels = before.outputs[output].labels;
  const int from = before.outputs[output].weights;
  if (labels < 0) {
    throw InvalidArgument(classes.where, "the data has no labels: fields are ",
                          to_string(data.fields()));
  }
  const auto uses = [&](const Wiring::Output& other) { return other.weights == from; };
  Dataset weighted = data;
  if (from < 0 || std::ranges::count_if(before.outputs, uses) > 1) {
    const bool one = network.outputs().size() == 1;
    const std::string name = one ? "" : "/" + network.outputs()[output].name;
    weighted = data.add_field({"sample_weight" + name, DType::f32, {}},
                              [](const SampleView& sample) { sample.f32(0)[0] = 1; });
  }
  const int to = wire(network, weighted.fields()).outputs[output].weights;
  return weighted.map_in_place([classes, labels, from, to](const SampleView& sample) {
    float& weight = sample.f32(static_cast<size_t>(to))[0];
    if (from >= 0) weight = sample.f32(static_cast<size_t>(from))[0];
    const int64_t number = classes.class_of(sample, static_cast<size_t>(labels));
    if (number >= 0) weight *= classes.weights[static_cast<size_t>(number)];
  });
}

}  // namespace

Dataset with_class_weight(const Dataset& data, const Network& network,
                          const ClassWeights& weights) {
  const std::vector<NetworkOutput>& outputs = network.outputs();
  Dataset weighted = data;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::map<int64_t, double>* own = weights.of(i, outputs, "class_weight");
    if (own == nullptr || own->empty()) continue;
    if (weights.is_for_all() && outputs.size() > 1) {
      throw InvalidArgument("class_weight: the network has ", outputs.size(),
                            " outputs; expected the name of one, such as {{\"", outputs[0].name,
                            "\", {{0, 2}}}}, got weights without a name");
    }
    weighted = weigh(weighted, network, i, by_number(outputs[i], *own));
  }
  return weighted;
}

}  // namespace pando::train
