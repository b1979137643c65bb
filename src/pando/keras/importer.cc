// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <set>

#include "pando/base/error.h"
#include "pando/keras/import.h"
#include "pando/keras/importer_impl.h"
#include "pando/nn/network_builder.h"

namespace pando::keras {
namespace {

constexpr int64_t kMostCalls = 20000;

// A layer of the file, created at its first call.
struct Created {
  Layer layer;
  std::optional<Layer> activation;
};

std::string plain_name(std::string name);

class Importer {
 public:
  Importer(int major, const ImportOptions& options) : major_(major), options_(options) {}
  ImportedNetwork run(const ModelConfig& model, const WeightSource& source);

 private:
  // Where in the models a layer is: names and classes from the outside in.
  struct Scope {
    std::vector<std::string> names = {};
    std::vector<std::string> classes = {};
    bool trainable = true;
  };
  struct Weighted {
    WantedLayer wanted;
    std::string layer;  // its name in the network
    std::vector<nn::WeightSpec> specs;
    std::map<std::string, std::vector<double>> given;
    bool trainable = true;
  };

  Shape shape_of_input(const Json& with_batch, const std::string& input);
  const Json* shape_in(const LayerConfig& layer) const;
  Computed add_input(const std::string& name, const Json& with_batch);
  std::vector<Computed> inputs_of(const ModelConfig& model);
  std::vector<Computed> apply(const ModelConfig& model, const std::vector<Computed>& inputs,
                              const Scope& scope);
  std::vector<Computed> call(const LayerConfig& layer, const LayerCall* call,
                             const std::vector<Computed>& inputs, const Scope& scope);
  Created& create(const LayerConfig& layer, const LayerCall* call,
                  const std::vector<Computed>& inputs, const Scope& scope);
  static Computed result_of(const Layer& layer, const std::vector<Computed>& inputs);
  void add_weights(const LayerConfig& layer, const MadeLayer& made,
                   const std::vector<Computed>& inputs, const Scope& scope);
  std::string own_name(const LayerConfig& layer, const Scope& scope);
  void check_extents() const;
  void take_weights(const ModelConfig& model, const WeightSource& source,
                    ImportedNetwork& imported) const;

  int major_;
  const ImportOptions& options_;
  std::set<std::string> used_extents_;
  std::map<std::string, std::string> names_;  // in the network, by path_of
  std::set<std::string> taken_;
  std::map<std::string, Created> layers_;
  std::map<std::string, Weighted> weighted_;
  std::vector<SymbolicTensor> inputs_;
  std::vector<ImportedInput> input_facts_;
  int64_t calls_ = 0;
};

Shape Importer::shape_of_input(const Json& with_batch, const std::string& input) {
  std::vector<int64_t> dims;
  const Json::Items& items = with_batch.items();
  for (size_t axis = 1; axis < items.size(); ++axis) {
    std::optional<int64_t> given;
    const bool picture = items.size() == 4;
    for (const std::string& key : {concat(input, ":", axis), std::string(axis == 1   ? "height"
                                                                         : axis == 2 ? "width"
                                                                                     : "")}) {
      const auto found = options_.extents.find(key);
      if (given || found == options_.extents.end() ||
          (!picture && key.find(':') == std::string::npos))
        continue;
      given = found->second;
      used_extents_.insert(key);
    }
    if (!given && picture && axis < 3 && options_.usual_side > 0) given = options_.usual_side;
    if (items[axis].is_null() && !given) {
      throw InvalidArgument("input '", input, "': the file leaves axis ", axis, " of ",
                            with_batch.dump(), " open; give its extent as '", input, ":", axis, "'",
                            picture && axis < 3 ? axis == 1 ? " or 'height'" : " or 'width'" : "");
    }
    const int64_t extent = items[axis].is_null() ? *given : items[axis].get<int64_t>();
    if (extent < 1 || extent > kMostExtent) {
      throw InvalidArgument("input '", input, "': axis ", axis, ": expected an extent of 1 to ",
                            kMostExtent, ", got ", extent);
    }
    dims.push_back(extent);
  }
  if (dims.empty() || dims.size() > 4) {
    throw Unsupported("input '", input, "': expected 2 to 5 axes with the batch, got ",
                      dims.size() + 1, ": ", with_batch.dump().substr(0, 100));
  }
  return Shape(dims);
}

const Json* Importer::shape_in(const LayerConfig& layer) const {
  for (const char* key : {"batch_input_shape", "batch_shape"}) {
    if (const Json* shape = find_value(layer.config, key)) return shape;
  }
  return nullptr;
}

Computed Importer::add_input(const std::string& name, const Json& with_batch) {
  const Shape shape = shape_of_input(with_batch, name);
  const std::string own = plain_name(name);
  taken_.insert(own);
  Computed input{Input(shape, {.name = own}), shape};
  inputs_.push_back(input.tensor);
  ImportedInput& facts = input_facts_.emplace_back();
  facts.name = name;
  for (size_t axis = 1; axis < with_batch.items().size(); ++axis) {
    facts.open.push_back(with_batch.items()[axis].is_null());
  }
  return input;
}

std::vector<Computed> Importer::inputs_of(const ModelConfig& model) {
  std::vector<Computed> inputs;
  if (!model.sequential) {
    for (const TensorRef& ref : model.inputs) {
      const auto layer = std::ranges::find(model.layers, ref.layer, &LayerConfig::name);
      const Json* shape = layer == model.layers.end() ? nullptr : shape_in(*layer);
      if (shape == nullptr) throw IoError("input '", ref.layer, "': it has no shape");
      inputs.push_back(add_input(ref.layer, *shape));
    }
    return inputs;
  }
  if (model.layers.empty()) throw IoError("model '", model.name, "': it has no layers");
  const LayerConfig& first = model.layers[0];
  if (const Json* shape = shape_in(first)) {
    return {add_input(first.is_input() ? first.name : first.name + "_input", *shape)};
  }
  if (first.model) return inputs_of(*first.model);
  if (model.input_shape.is_null()) {
    throw IoError("model '", model.name,
                  "': the shape of its input is not known; build the model before it is saved");
  }
  return {add_input(first.name + "_input", model.input_shape)};
}

// Where in the models a layer is, as one text that no two layers share.
std::string path_of(const std::vector<std::string>& names) { return join(names, "\n"); }

// A name that layers of ours may have.
std::string plain_name(std::string name) {
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.' || c == '/';
    if (!plain) c = '_';
  }
  return name;
}

std::string Importer::own_name(const LayerConfig& layer, const Scope& scope) {
  std::vector<std::string> names = scope.names;
  names.push_back(layer.name);
  std::string& own = names_[path_of(names)];
  if (!own.empty()) return own;
  const std::string base = plain_name(join(names, "/"));
  own = base;
  for (int i = 1; !taken_.insert(own).second; ++i) own = concat(base, "_", i);
  return own;
}

Computed Importer::result_of(const Layer& layer, const std::vector<Computed>& inputs) {
  const nn::LayerDefinition& definition = *layer.state()->definition;
  const auto count = static_cast<int>(inputs.size());
  if (count < definition.least_inputs() || count > definition.most_inputs()) {
    throw IoError(definition.class_name(), " '", layer.state()->name, "': expected ",
                  definition.least_inputs(), " inputs, got ", count);
  }
  Computed result = nn::apply(layer, inputs);
  for (const int64_t extent : result.shape) {
    if (extent <= kMostExtent) continue;
    throw Unsupported(definition.class_name(), " '", layer.state()->name,
                      "': expected extents of at most ", kMostExtent, ", got ", result.shape);
  }
  return result;
}

void Importer::add_weights(const LayerConfig& layer, const MadeLayer& made,
                           const std::vector<Computed>& inputs, const Scope& scope) {
  std::vector<Shape> shapes;
  for (const Computed& input : inputs) shapes.push_back(input.shape);
  Weighted weighted;
  weighted.layer = made.layer.state()->name;
  weighted.specs = made.layer.state()->definition->weights(weighted.layer, shapes);
  if (weighted.specs.empty()) return;
  weighted.given = made.given;
  weighted.trainable = scope.trainable && layer.trainable();
  weighted.wanted.names = scope.names;
  weighted.wanted.classes = scope.classes;
  weighted.wanted.names.push_back(layer.name);
  weighted.wanted.classes.push_back(layer.class_name);
  for (const nn::WeightSpec& spec : weighted.specs) {
    if (made.given.contains(spec.name)) continue;
    weighted.wanted.weights.push_back({.name = spec.name,
                                       .shape = spec.file_shape(),
                                       .trainable = weighted.trainable && !spec.is_state()});
  }
  for (const std::string& name : made.ignored) {
    weighted.wanted.weights.push_back({.name = name, .trainable = false, .any_shape = true});
  }
  weighted_.emplace(weighted.layer, std::move(weighted));
}

Created& Importer::create(const LayerConfig& layer, const LayerCall* call,
                          const std::vector<Computed>& inputs, const Scope& scope) {
  const std::string name = own_name(layer, scope);
  const auto known = layers_.find(name);
  if (known != layers_.end()) return known->second;
  LayerPlace place{.layer = layer, .name = name, .inputs = {}, .call = call, .major = major_};
  for (const Computed& input : inputs) place.inputs.push_back(input.shape);
  MadeLayer made = [&] {
    try {
      if (place.get<std::string>("data_format", "channels_last") == "channels_first") {
        refuse_option(place, "data_format", "channels_last");
      }
      return all_imports().at(layer.class_name)(place);
    } catch (const IoError& error) {
      throw IoError(place.label(), ": ", error.what());
    }
  }();
  add_weights(layer, made, inputs, scope);
  return layers_.emplace(name, Created{made.layer, made.activation}).first->second;
}

std::vector<Computed> Importer::call(const LayerConfig& layer, const LayerCall* call,
                                     const std::vector<Computed>& inputs, const Scope& scope) {
  if (++calls_ > kMostCalls) {
    throw Unsupported("expected at most ", kMostCalls, " calls of layers, got more");
  }
  if (layer.model) {
    Scope inner = scope;
    inner.names.push_back(layer.name);
    inner.classes.push_back(layer.class_name);
    inner.trainable = scope.trainable && layer.trainable();
    return apply(*layer.model, inputs, inner);
  }
  if (inputs.empty()) throw IoError(layer.class_name, " '", layer.name, "': it has no input");
  const Created& created = create(layer, call, inputs, scope);
  Computed result = result_of(created.layer, inputs);
  if (created.activation) result = result_of(*created.activation, {result});
  return {result};
}

std::vector<Computed> Importer::apply(const ModelConfig& model, const std::vector<Computed>& inputs,
                                      const Scope& scope) {
  if (!model.sequential) {
    return apply_functional(
        model, inputs,
        [&](const LayerConfig& layer, const LayerCall* one, const std::vector<Computed>& values) {
          return call(layer, one, values, scope);
        });
  }
  std::vector<Computed> values = inputs;
  for (const LayerConfig& layer : model.layers) {
    if (!layer.is_input()) values = call(layer, nullptr, values, scope);
  }
  return values;
}

// The layers of a model in its order, by path_of.
void list_layers(const ModelConfig& model, std::vector<std::string>& scope,
                 std::vector<std::string>& paths) {
  for (const LayerConfig& layer : model.layers) {
    scope.push_back(layer.name);
    if (layer.model) {
      list_layers(*layer.model, scope, paths);
    } else {
      paths.push_back(path_of(scope));
    }
    scope.pop_back();
  }
}

void Importer::check_extents() const {
  for (const auto& [key, extent] : options_.extents) {
    if (used_extents_.contains(key)) continue;
    throw InvalidArgument("extents: '", key, "': the model has no such input");
  }
}

// Elements that a layer gives itself, repeated.
Tensor given_tensor(const Shape& shape, const std::vector<double>& values) {
  Tensor tensor(DType::f32, shape);
  for (size_t i = 0; i < tensor.f32().size(); ++i) {
    tensor.f32()[i] = static_cast<float>(values[i % values.size()]);
  }
  return tensor;
}

void Importer::take_weights(const ModelConfig& model, const WeightSource& source,
                            ImportedNetwork& imported) const {
  std::vector<std::string> scope, paths;
  list_layers(model, scope, paths);
  std::vector<WantedLayer> wanted;
  std::vector<const Weighted*> order;
  for (const std::string& path : paths) {
    const auto name = names_.find(path);
    const auto found = name == names_.end() ? weighted_.end() : weighted_.find(name->second);
    if (found == weighted_.end()) continue;
    order.push_back(&found->second);
    if (!found->second.trainable) imported.frozen.push_back(name->second);
    if (!found->second.wanted.weights.empty()) wanted.push_back(found->second.wanted);
  }
  std::vector<std::vector<Tensor>> found = source.find(wanted);
  auto next = found.begin();
  for (const Weighted* layer : order) {
    auto from = layer->wanted.weights.empty() ? std::vector<Tensor>() : std::move(*next++);
    size_t taken = 0;
    for (const nn::WeightSpec& spec : layer->specs) {
      const auto given = layer->given.find(spec.name);
      imported.weights.emplace_back(nn::weight_name(layer->layer, spec.name),
                                    given == layer->given.end()
                                        ? std::move(from[taken++])
                                        : given_tensor(spec.file_shape(), given->second));
    }
  }
}

ImportedNetwork Importer::run(const ModelConfig& model, const WeightSource& source) {
  const std::vector<Computed> inputs = inputs_of(model);
  const std::vector<Computed> outputs = [&] {
    try {
      return apply(model, inputs, {});
    } catch (const InvalidArgument& error) {
      throw IoError(error.what());  // the file is wrong, not what the caller asked for
    }
  }();
  check_extents();
  std::vector<SymbolicTensor> tensors;
  for (const Computed& output : outputs) tensors.push_back(output.tensor);
  if (tensors.empty()) throw IoError("model '", model.name, "': it has no outputs");
  ImportedNetwork imported{.network = Network(inputs_, tensors),
                           .name = model.name,
                           .inputs = input_facts_,
                           .weights = {},
                           .frozen = {}};
  take_weights(model, source, imported);
  return imported;
}

}  // namespace

ImportedNetwork import_network(const Json& config, int major, const WeightSource& weights,
                               const ImportOptions& options) {
  const ModelConfig model = parse_model_config(config);
  const std::vector<std::string> unknown = unknown_lines(model);
  if (!unknown.empty()) {
    throw Unsupported("these layers cannot be imported:\n", join(unknown, "\n"));
  }
  return Importer(major, options).run(model, weights);
}

}  // namespace pando::keras
