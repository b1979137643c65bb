// SPDX-License-Identifier: MIT
#include "pando/train/wiring.h"

#include <algorithm>

#include "pando/base/error.h"

namespace pando::train {

namespace {

const std::string kWeight = "sample_weight";

int place_of(const std::vector<Field>& fields, const std::string& name) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const Field& field_at(const std::vector<Field>& fields, int place) {
  return fields[static_cast<size_t>(place)];
}

class Finder {
 public:
  Finder(const Network& network, const std::vector<Field>& fields)
      : network_(network), fields_(fields), used_(fields.size(), false) {}

  Wiring find() {
    Wiring wiring;
    for (const NetworkInput& input : network_.inputs()) wiring.inputs.push_back(input_place(input));
    for (const NetworkOutput& output : network_.outputs()) {
      wiring.outputs.push_back({.labels = take(labels_place(output))});
    }
    const int shared = take(shared_weight());
    for (size_t i = 0; i < wiring.outputs.size(); ++i) {
      const int own = take(place_of(fields_, kWeight + "/" + network_.outputs()[i].name));
      wiring.outputs[i].weights = own >= 0 ? own : shared;
    }
    return wiring;
  }

 private:
  int take(int place) {
    if (place >= 0) used_[static_cast<size_t>(place)] = true;
    return place;
  }
  int free_place(size_t place) const {
    return place < fields_.size() && !used_[place] ? static_cast<int>(place) : -1;
  }
  int input_place(const NetworkInput& input) {
    const int named = place_of(fields_, input.name);
    if (named >= 0 || input.auxiliary || network_.features() > 1) return take(named);
    return take(free_place(0));
  }
  int labels_place(const NetworkOutput& output) const {
    const int named = place_of(fields_, output.name);
    if (named >= 0 || network_.outputs().size() > 1) return named;
    const int usual = place_of(fields_, "y");
    return usual >= 0 && !used_[static_cast<size_t>(usual)] ? usual : free_place(1);
  }
  int shared_weight() const {
    const int named = place_of(fields_, kWeight);
    const bool plain = network_.features() == 1 && network_.outputs().size() == 1;
    return named >= 0 || !plain ? named : free_place(2);
  }

  const Network& network_;
  const std::vector<Field>& fields_;
  std::vector<bool> used_;
};

bool is_number(const Field& field) { return field.dtype == DType::f32 && field.shape.rank() == 0; }

std::string of_output(const Network& network, size_t output) {
  if (network.outputs().size() == 1) return "";
  return concat("output '", network.outputs()[output].name, "': ");
}

// Labels of a loss over class numbers: one for each place of the output before its last axis.
Shape class_shape(const Shape& output) {
  return Shape(std::vector<int64_t>(output.begin(), output.end() - (output.rank() > 0 ? 1 : 0)));
}

void check_field(const Network& network, size_t output, const Loss& loss, const Field& labels) {
  const Shape& shape = network.outputs()[output].shape;
  const std::string where = of_output(network, output);
  const bool numbers = loss.labels() == LabelKind::any && labels.dtype == DType::i32;
  if (loss.labels() == LabelKind::classes || numbers) {
    const Shape expected = class_shape(shape);
    if (labels.shape == expected && labels.dtype == DType::i32) return;
    throw InvalidArgument(where, "loss '", loss.name(), "': expected class numbers (i32", expected,
                          ") as labels, got ", to_string(labels),
                          "; use categorical_crossentropy for one-hot labels");
  }
  if (labels.dtype == DType::f32 && labels.shape == shape) return;
  const bool class_number = labels.shape.rank() == 0;
  throw InvalidArgument(where, "loss '", loss.name(), "': expected labels f32", shape, ", got ",
                        to_string(labels),
                        class_number ? "; use sparse_categorical_crossentropy, or one_hot()" : "");
}

std::string names_of_uses(const Network& network) {
  std::string names;
  for (const NetworkInput& input : network.inputs()) names += "'" + input.name + "', ";
  for (const NetworkOutput& output : network.outputs()) names += "'" + output.name + "', ";
  return names + "'" + kWeight + "'";
}

// Every field must be used; otherwise a network would be trained without it.
void check_all_used(const Network& network, const std::vector<Field>& fields,
                    const Wiring& wiring) {
  const std::vector<int> weights = wiring.weights();
  for (size_t i = 0; i < fields.size(); ++i) {
    const int place = static_cast<int>(i);
    const auto holds = [&](const Wiring::Output& output) { return output.labels == place; };
    if (std::ranges::find(wiring.inputs, place) != wiring.inputs.end()) continue;
    if (std::ranges::any_of(wiring.outputs, holds)) continue;
    const bool weighs = std::ranges::find(weights, place) != weights.end();
    if (weighs && is_number(fields[i])) continue;
    if (weighs && fields[i].name.starts_with(kWeight)) {
      throw InvalidArgument("the data has the field ", to_string(fields[i]),
                            ", expected one f32 number per sample");
    }
    if (network.features() == 1 && network.outputs().size() == 1) {
      throw InvalidArgument(
          "the data has the field ", to_string(fields[i]),
          ", which the network does not take; besides x and y it may have one "
          "f32 number per sample, its weight, and auxiliary inputs of the network");
    }
    throw InvalidArgument("the data has the field ", to_string(fields[i]),
                          ", which the network does not take; expected fields among ",
                          names_of_uses(network));
  }
}

void add_once(std::vector<int>& places, int place) {
  if (std::ranges::find(places, place) == places.end()) places.push_back(place);
}

}  // namespace

std::vector<int> Wiring::weights() const {
  std::vector<int> places;
  for (const Output& output : outputs) {
    if (output.weights >= 0) add_once(places, output.weights);
  }
  return places;
}

std::vector<int> Wiring::deciding_weights(const std::vector<bool>& counts) const {
  std::vector<int> places;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!counts[i] || outputs[i].labels < 0) continue;
    if (outputs[i].weights < 0) return {};
    add_once(places, outputs[i].weights);
  }
  return places;
}

Wiring wire(const Network& network, const std::vector<Field>& fields) {
  return Finder(network, fields).find();
}

void check_inputs(const Network& network, const std::vector<Field>& fields) {
  if (network.features() < 1) {
    throw InvalidArgument("the network has auxiliary inputs only, expected one for features");
  }
  if (fields.empty()) throw InvalidArgument("the data has no fields, expected x");
  const Wiring wiring = wire(network, fields);
  for (size_t i = 0; i < network.inputs().size(); ++i) {
    const NetworkInput& input = network.inputs()[i];
    const Field wanted{input.name, input.dtype, input.shape};
    if (wiring.inputs[i] < 0) {
      if (input.auxiliary) continue;
      throw InvalidArgument("the data has no field for the input ", to_string(wanted),
                            " of the network; its fields are ", to_string(fields));
    }
    const Field& field = field_at(fields, wiring.inputs[i]);
    if (field.shape == input.shape && field.dtype == input.dtype) continue;
    if (!input.auxiliary && network.features() == 1) {
      throw InvalidArgument("the data has samples ", to_string(field), ", the network takes ",
                            to_string(input.dtype), input.shape);
    }
    throw InvalidArgument("the data has the field ", to_string(field), ", the network takes ",
                          to_string(input.dtype), input.shape, " under that name");
  }
}

void check_labels(const Network& network, const std::vector<Field>& fields, const Losses& losses) {
  const Wiring wiring = wire(network, fields);
  for (size_t i = 0; i < network.outputs().size(); ++i) {
    const Loss* loss = losses.of(i, network.outputs(), "loss");
    if (loss == nullptr) continue;
    if (wiring.outputs[i].labels >= 0) {
      check_field(network, i, *loss, field_at(fields, wiring.outputs[i].labels));
    } else if (network.outputs().size() == 1) {
      throw InvalidArgument("the data has no labels: fields are ", to_string(fields));
    } else {
      throw InvalidArgument("the data has no field '", network.outputs()[i].name,
                            "' with the labels for loss '", loss->name(),
                            "' of that output; its fields are ", to_string(fields));
    }
  }
  check_all_used(network, fields, wiring);
}

std::string label_feed(const Network& network, size_t output) {
  return network.outputs().size() == 1 ? "y" : "y/" + network.outputs()[output].name;
}

std::string weight_feed(const Wiring& wiring, const Network& network, size_t output) {
  const bool shared = wiring.weights().size() == 1;
  return shared ? kWeight : concat(kWeight, "/", network.outputs()[output].name);
}

}  // namespace pando::train
