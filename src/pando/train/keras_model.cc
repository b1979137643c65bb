// SPDX-License-Identifier: MIT
#include "pando/train/keras_model.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "pando/base/error.h"
#include "pando/keras/export.h"
#include "pando/keras/files.h"
#include "pando/keras/import.h"
#include "pando/keras/optimizer_slots.h"
#include "pando/keras/write_files.h"
#include "pando/train/imported_model_impl.h"

namespace pando {
namespace {

std::string format_by_suffix(const std::string& path) {
  const std::string lower = to_lower(path);
  for (const auto& [suffix, format] : {std::pair<const char*, const char*>(".h5", "h5"),
                                       {".hdf5", "h5"},
                                       {".keras", "keras"},
                                       {".json", "tfjs"}}) {
    if (lower.ends_with(suffix)) return format;
  }
  throw InvalidArgument("'", path, "': expected a file that ends in .h5, .hdf5, .keras or .json");
}

// Answers with zeros, where only the layers matter.
class ZeroWeights : public keras::WeightSource {
 public:
  std::vector<std::vector<Tensor>> find(
      const std::vector<keras::WantedLayer>& layers) const override {
    std::vector<std::vector<Tensor>> found;
    for (const keras::WantedLayer& layer : layers) {
      std::vector<Tensor>& weights = found.emplace_back();
      for (const keras::WantedWeight& weight : layer.weights) {
        weights.emplace_back(DType::f32, weight.any_shape ? Shape{0} : weight.shape);
      }
    }
    return found;
  }
};

OpenSizes keras_sizes_of(const keras::ModelFile& file, const keras::ImportedNetwork& imported) {
  OpenSizes sizes;
  bool any = false;
  for (const keras::ImportedInput& input : imported.inputs) {
    sizes.axes.push_back(input.open);
    any = any || std::ranges::find(input.open, true) != input.open.end();
  }
  if (!any) return {};
  sizes.network = [config = file.config, major = file.major,
                   inputs = imported.inputs](const std::vector<Shape>& shapes) {
    keras::ImportOptions options;
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (int axis = 0; axis < shapes[i].rank(); ++axis) {
        if (!inputs[i].open[static_cast<size_t>(axis)]) continue;
        options.extents[concat(inputs[i].name, ":", axis + 1)] = shapes[i][axis];
      }
    }
    return keras::import_network(config, major, ZeroWeights(), options).network;
  };
  return sizes;
}

}  // namespace

Model load_keras(const std::string& path, const LoadModelOptions& options) {
  const keras::ModelFile file = keras::read_model_file(path);
  ModelFacts facts = facts_in(file.metadata, path);
  const PicturePreparation known = facts.pictures.value_or(PicturePreparation{});
  std::map<std::string, int64_t> extents = options.extents;
  for (const auto& [name, given, usual] : {std::tuple("height", options.height, known.height),
                                           {"width", options.width, known.width}}) {
    if (given > 0 || usual > 0) extents.emplace(name, given > 0 ? given : usual);
  }
  keras::ImportedNetwork imported = imported_from(path, [&] {
    return keras::import_network(file.config, file.major, *file.weights,
                                 {.extents = extents, .usual_side = options.usual_side});
  });
  Model model = model_of_import(imported, options);
  model.set_open_sizes(keras_sizes_of(file, imported));
  for (const std::string& layer : imported.frozen) {
    if (options.freeze) model.set_trainable(layer, false);
  }
  if (facts.origin.producer.empty()) facts.origin.producer = file.producer;
  model.set_facts(std::move(facts));
  return model;
}

namespace {

// The names that TrainingState has slots by.
constexpr std::string_view kSlotPrefix = "optimizer/";

// The slots of a state by slot and weight, in the shapes of files.
keras::OptimizerSlots slots_in(const TrainingState& state, const Network& network) {
  std::map<std::string, Shape> shapes;
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& spec : layer.weights) {
      shapes.emplace(concat(layer.name, "/", spec.name), spec.file_shape());
    }
  }
  keras::OptimizerSlots found{.rule = state.optimizer, .iteration = state.iteration, .slots = {}};
  for (const store::NamedWeight& entry : state.weights.state) {
    const std::string rest = entry.name.substr(kSlotPrefix.size());
    const size_t slash = rest.find('/');
    const auto shape = shapes.find(rest.substr(slash + 1));
    if (shape == shapes.end() || shape->second.elements() != entry.value.elements()) continue;
    found.slots[rest.substr(0, slash)].emplace(
        shape->first, cast(entry.value, DType::f32).reshaped(shape->second));
  }
  return found;
}

keras::NamedTensors slots_for_keras(const TrainingState* state, const Network& network) {
  if (state == nullptr || state->weights.state.empty()) return {};
  try {
    return keras::optimizer_weights(slots_in(*state, network));
  } catch (const Unsupported&) {
    return {};  // an optimizer that only we have
  }
}

// Every variable of the network with the slots of a file. Layers that the file did not train have
// none there.
std::vector<store::NamedWeight> state_of(const Network& network,
                                         const keras::OptimizerSlots& found) {
  std::vector<store::NamedWeight> state;
  for (const auto& [slot, by_weight] : found.slots) {
    for (const LayerInfo& layer : network.layers()) {
      for (const nn::WeightSpec& spec : layer.weights) {
        if (spec.is_state()) continue;
        const std::string name = concat(layer.name, "/", spec.name);
        const auto known = by_weight.find(name);
        Tensor value = known == by_weight.end() ? Tensor(DType::f32, spec.shape) : known->second;
        if (value.elements() == spec.shape.elements()) value = value.reshaped(spec.shape);
        state.push_back({concat(kSlotPrefix, slot, "/", name), std::move(value)});
      }
    }
  }
  return state;
}

}  // namespace

bool has_keras_optimizer(const std::string& path) {
  return static_cast<bool>(keras::read_model_file(path).optimizer_weights);
}

std::string restore_keras_optimizer(Model& model, const std::string& path) {
  const keras::ModelFile file = keras::read_model_file(path);
  if (!file.optimizer_weights) return concat(path, ": it has no optimizer_weights");
  try {
    const keras::OptimizerSlots found =
        keras::optimizer_slots(file.optimizer_weights(), file.training);
    TrainingState state = model.training_state();
    state.optimizer = found.rule;
    state.iteration = found.iteration;
    state.weights.state = state_of(model.network(), found);
    state.weights.path = path;
    int64_t taken = 0, there = 0;
    for (const auto& [slot, by_weight] : found.slots) there += std::ssize(by_weight);
    for (const auto& [slot, by_weight] : found.slots) {
      for (const std::string& name : model.weight_names())
        taken += by_weight.contains(name) ? 1 : 0;
    }
    if (taken != there) {
      return concat(path, ": ", there - taken, " of ", there,
                    " slots of its optimizer belong to weights that the model does not have");
    }
    model.restore(state);
    return "";
  } catch (const Unsupported& error) {
    return concat(path, ": ", error.what());
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

void save_keras(const Model& model, const std::string& path, const KerasSaveOptions& options) {
  const std::string format = options.format.empty() ? format_by_suffix(path) : options.format;
  const bool archive = format == "keras";
  const bool tfjs = format == "tfjs";
  if (!archive && !tfjs && format != "h5") {
    throw InvalidArgument("'", path, "': format: expected h5, keras or tfjs, got '", format, "'");
  }
  keras::ExportOptions exporting{.name = model.name(), .major = archive ? 3 : 2};
  for (const LayerInfo& layer : model.network().layers()) {
    if (!layer.weights.empty() && !model.trainable(layer.name)) exporting.frozen.insert(layer.name);
  }
  std::map<std::string, Tensor> weights;
  for (const std::string& name : model.weight_names()) {
    weights.emplace(name, cast(model.get_weight(name), DType::f32));
  }
  const keras::ExportedModel exported = keras::export_network(model.network(), weights, exporting);
  keras::WriteOptions writing{.metadata = to_metadata(model.facts()),
                              .half = options.half,
                              .optimizer = slots_for_keras(options.training, model.network())};
  for (const auto& [key, value] : options.metadata) writing.metadata[key] = value;
  const auto write = archive ? keras::write_keras_archive
                     : tfjs  ? keras::write_tfjs_model
                             : keras::write_hdf5_model;
  write(path, exported, writing);
}

}  // namespace pando
