// SPDX-License-Identifier: MIT
#include "pando/app/job/shared_state.h"

#include <map>
#include <utility>

#include "pando/base/json.h"

namespace pando::app {

namespace {

// Everything in a state except the contents of its tensors.
Json outline_of(const std::vector<store::NamedWeight>& weights) {
  Json list = Json::array();
  for (const store::NamedWeight& weight : weights) {
    list.push_back({{"name", weight.name},
                    {"dtype", static_cast<int>(weight.value.dtype())},
                    {"shape", weight.value.shape().dims()}});
  }
  return list;
}

Json outline_of(const TrainingState& state) {
  Json layers = Json::array();
  for (const store::LayerWeights& layer : state.weights.layers) {
    layers.push_back({{"layer", layer.layer}, {"weights", outline_of(layer.weights)}});
  }
  Json sums = Json::array();
  for (const runtime::Totals& totals : state.epoch_sums) sums.push_back(totals.numbers());
  return {{"layers", std::move(layers)},
          {"state", outline_of(state.weights.state)},
          {"attributes", state.weights.attributes},
          {"path", state.weights.path},
          {"epoch", state.position.epoch},
          {"update", state.position.update},
          {"iteration", state.iteration},
          {"data_epoch", state.data_epoch},
          {"seed", state.seed},
          {"optimizer", state.optimizer},
          {"loss_scaling", state.loss_scaling ? Json(state.loss_scaling->numbers()) : Json()},
          {"epoch_sums", std::move(sums)},
          {"notes", state.notes}};
}

std::vector<store::NamedWeight> weights_like(const Json& outline) {
  std::vector<store::NamedWeight> weights;
  for (const Json& entry : outline.items()) {
    weights.push_back(
        {entry.get<std::string>("name"), Tensor(static_cast<DType>(entry.get<int>("dtype")),
                                                Shape(entry.get<std::vector<int64_t>>("shape")))});
  }
  return weights;
}

TrainingState state_like(const Json& outline) {
  TrainingState state;
  for (const Json& layer : outline.at("layers").items()) {
    state.weights.layers.push_back(
        {layer.get<std::string>("layer"), weights_like(layer.at("weights"))});
  }
  state.weights.state = weights_like(outline.at("state"));
  using Texts = std::map<std::string, std::string>;
  state.weights.attributes = outline.get<Texts>("attributes");
  state.weights.path = outline.get<std::string>("path");
  state.position = {outline.get<int64_t>("epoch"), outline.get<int64_t>("update")};
  state.iteration = outline.get<int64_t>("iteration");
  state.data_epoch = outline.get<int64_t>("data_epoch");
  state.seed = outline.get<uint64_t>("seed");
  state.optimizer = outline.get<std::string>("optimizer");
  if (const Json& scaling = outline.at("loss_scaling"); !scaling.is_null()) {
    state.loss_scaling = LossScalerState::of(scaling.get<LossScalerState::Numbers>());
  }
  for (const auto& numbers : outline.get<std::vector<std::vector<double>>>("epoch_sums")) {
    state.epoch_sums.push_back(runtime::Totals::of(numbers));
  }
  state.notes = outline.get<Texts>("notes");
  return state;
}

void share(const Instances& instances, std::vector<store::NamedWeight>& weights) {
  for (store::NamedWeight& weight : weights) {
    instances.share({weight.value.data(), weight.value.bytes()});
  }
}

}  // namespace

void share_state(const Instances& instances, std::optional<TrainingState>& state) {
  if (instances.count() == 1) return;
  const std::string outline =
      instances.from_first([&] { return state ? outline_of(*state).to_bytes() : ""; });
  if (!instances.is_first()) {
    state.reset();
    if (!outline.empty()) state = state_like(Json::from_bytes(outline));
  }
  if (!state) return;
  for (store::LayerWeights& layer : state->weights.layers) share(instances, layer.weights);
  share(instances, state->weights.state);
}

void share_weights(const Instances& instances, Model& model) {
  if (instances.count() == 1) return;
  std::vector<Tensor> weights = model.get_weights();
  for (Tensor& weight : weights) instances.share({weight.data(), weight.bytes()});
  if (!instances.is_first()) model.set_weights(weights);
}

}  // namespace pando::app
