// Turns a network with its weights into the description of a Keras model, for training and
// inference.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pando/base/json.h"
#include "pando/keras/model_config.h"
#include "pando/nn/network.h"
#include "pando/tensor/tensor.h"

namespace pando::keras {

struct ExportOptions {
  std::string name = "model";
  int major = 2;                      // version of Keras: 2 or 3
  std::set<std::string> frozen = {};  // layers that are not trainable
};

struct ExportedLayer {
  std::string class_name;
  std::string name;
  Json config;  // without the name
  std::vector<std::vector<TensorRef>> calls = {};
  Shape input = {};  // of the first call, with a batch of 1
  Shape output = {};
  // By Keras' names, in its order and shapes.
  std::vector<std::pair<std::string, Tensor>> weights = {};
  bool trainable = true;
};

struct ExportedModel {
  std::string name;
  std::vector<ExportedLayer> layers;  // inputs first, each layer behind those whose results it uses
  std::vector<TensorRef> inputs;
  std::vector<TensorRef> outputs;
};

// `weights` are f32, by the names of Model::weight_names(). Layers keep their names as far as Keras
// takes them; a layer of several ops becomes several layers. Throws Unsupported with a list of all
// layers that Keras does not have, InvalidArgument for a missing weight or another version.
ExportedModel export_network(const Network& network, const std::map<std::string, Tensor>& weights,
                             const ExportOptions& options = {});

// {"class_name": "Functional", "config": {...}} as Keras 2.15 or Keras 3 writes it.
Json config_of_2(const ExportedModel& model);
Json config_of_3(const ExportedModel& model);

}  // namespace pando::keras
