// The JSON of exported models.
// SPDX-License-Identifier: MIT
#include "pando/keras/export.h"

namespace pando::keras {
namespace {

Json list_of(const TensorRef& ref) { return Json::Items{ref.layer, ref.call, ref.output}; }

Json lists_of(const std::vector<TensorRef>& refs) {
  Json all = Json::array();
  for (const TensorRef& ref : refs) all.push_back(list_of(ref));
  return all;
}

Json config_with_name(const ExportedLayer& layer) {
  Json config = {{"name", layer.name}};
  if (layer.class_name != "InputLayer") {
    config["trainable"] = layer.trainable;
    config["dtype"] = "float32";
  }
  config.update(layer.config);
  return config;
}

Json functional(const ExportedModel& model, Json layers) {
  Json config = {{"name", model.name}, {"trainable", true}};
  config["layers"] = std::move(layers);
  config["input_layers"] = lists_of(model.inputs);
  config["output_layers"] = lists_of(model.outputs);
  return config;
}

Json shape_with_batch(const Shape& shape) {
  Json all = Json::array();
  all.push_back(nullptr);
  for (int axis = 1; axis < shape.rank(); ++axis) all.push_back(shape[axis]);
  return all;
}

Json keras_tensor(const TensorRef& ref, const Shape& shape) {
  return {{"class_name", "__keras_tensor__"},
          {"config",
           {{"shape", shape_with_batch(shape)},
            {"dtype", "float32"},
            {"keras_history", list_of(ref)}}}};
}

// One argument, which is a list for layers of several inputs.
Json call_of_3(const std::vector<TensorRef>& inputs, const ExportedModel& model) {
  Json tensors = Json::array();
  for (const TensorRef& input : inputs) {
    Shape shape;
    for (const ExportedLayer& layer : model.layers) {
      if (layer.name == input.layer) shape = layer.output;
    }
    tensors.push_back(keras_tensor(input, shape));
  }
  Json arguments = Json::array();
  if (inputs.size() == 1) {
    arguments = tensors;
  } else {
    arguments.push_back(tensors);
  }
  return {{"args", arguments}, {"kwargs", Json::object()}};
}

}  // namespace

Json config_of_2(const ExportedModel& model) {
  Json layers = Json::array();
  for (const ExportedLayer& layer : model.layers) {
    Json calls = Json::array();
    for (const std::vector<TensorRef>& inputs : layer.calls) {
      Json& call = calls.push_back(Json::array());
      for (const TensorRef& input : inputs) {
        call.push_back(Json::Items{input.layer, input.call, input.output, Json::object()});
      }
    }
    layers.push_back({{"class_name", layer.class_name},
                      {"config", config_with_name(layer)},
                      {"name", layer.name},
                      {"inbound_nodes", calls}});
  }
  return {{"class_name", "Functional"}, {"config", functional(model, layers)}};
}

Json config_of_3(const ExportedModel& model) {
  Json layers = Json::array();
  for (const ExportedLayer& layer : model.layers) {
    Json config = config_with_name(layer);
    if (layer.class_name == "InputLayer") {
      config = {{"batch_shape", shape_with_batch(layer.output)},
                {"dtype", "float32"},
                {"sparse", false},
                {"name", layer.name}};
    }
    Json calls = Json::array();
    for (const std::vector<TensorRef>& inputs : layer.calls) {
      calls.push_back(call_of_3(inputs, model));
    }
    Json one = {{"module", "keras.layers"},
                {"class_name", layer.class_name},
                {"config", config},
                {"registered_name", nullptr}};
    if (layer.class_name != "InputLayer" && layer.calls[0].size() == 1) {
      one["build_config"] = {{"input_shape", shape_with_batch(layer.input)}};
    }
    one["name"] = layer.name;
    one["inbound_nodes"] = calls;
    layers.push_back(one);
  }
  return {{"module", "keras.src.models.functional"},
          {"class_name", "Functional"},
          {"config", functional(model, layers)},
          {"registered_name", "Functional"}};
}

}  // namespace pando::keras
