// SPDX-License-Identifier: MIT
#include "pando/train/keras_model.h"

#include <vector>

#include "pando/keras/files.h"
#include "pando/keras/import.h"

namespace pando {

Model load_keras(const std::string& path, const KerasLoadOptions& options) {
  const keras::ModelFile file = keras::read_model_file(path);
  const keras::ImportedNetwork imported =
      keras::import_network(file.config, file.major, *file.weights, {.extents = options.extents});
  Model model(imported.network, options.model);
  const std::map<std::string, Tensor> by_name(imported.weights.begin(), imported.weights.end());
  std::vector<Tensor> weights;
  for (const std::string& name : model.weight_names()) weights.push_back(by_name.at(name));
  model.set_weights(weights);
  for (const std::string& layer : imported.frozen) {
    if (options.freeze) model.set_trainable(layer, false);
  }
  return model;
}

}  // namespace pando
