// SPDX-License-Identifier: MIT
#include "pando/nn/recommended_splits.h"

#include <algorithm>

namespace pando {

std::vector<std::string> recommended_splits(const Network& network, int stages) {
  const int64_t total = network.parameters();
  const std::string first = network.stage_assignment().front().layer;
  std::vector<std::string> splits;
  int64_t cumulative = 0;
  int64_t share = 1;
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& weight : layer.weights) {
      cumulative += weight.shape.elements();
      while (share < stages && cumulative * stages >= share * total) {
        ++share;
        const bool known = std::find(splits.begin(), splits.end(), layer.name) != splits.end();
        if (!known && layer.name != first) splits.push_back(layer.name);
      }
    }
  }
  return splits;
}

}  // namespace pando
