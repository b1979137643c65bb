// Reads any bytes as the description of a Keras model and imports its network, with weights of any
// shape that it asks for. Expects a network or one of the errors that the headers name.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/keras/import.h"
#include "tests/fuzz/targets.h"

namespace {

// Gives no more than a megabyte for all weights together.
class SmallWeights : public pando::keras::WeightSource {
 public:
  std::vector<std::vector<pando::Tensor>> find(
      const std::vector<pando::keras::WantedLayer>& layers) const override {
    constexpr int64_t kMost = 1 << 18;
    int64_t left = kMost;
    std::vector<std::vector<pando::Tensor>> all;
    for (const auto& layer : layers) {
      all.emplace_back();
      for (const auto& weight : layer.weights) {
        left -= weight.shape.elements();
        if (left < 0) throw pando::IoError("weights: too many");
        all.back().emplace_back(pando::DType::f32, weight.shape);
      }
    }
    return all;
  }
};

}  // namespace

void pando::fuzz::keras_config(Input input) {
  try {
    const Json config = Json::parse({reinterpret_cast<const char*>(input.data()), input.size()});
    keras::unknown_layers(config);
    keras::import_network(config, 3, SmallWeights(), {.extents = {{"height", 8}, {"width", 8}}});
  } catch (const IoError&) {
  } catch (const InvalidArgument&) {
  } catch (const Unsupported&) {
  }
}
