// SPDX-License-Identifier: MIT
#include "pando/train/other_sizes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "pando/base/error.h"
#include "pando/train/wiring.h"

namespace pando::train {

namespace {

// The shapes of the samples of each input; empty unless only extents of open axes differ from the
// network's own.
std::vector<Shape> other_shapes(const OpenSizes& open, const Network& own,
                                const std::vector<Field>& fields) {
  const Wiring wiring = wire(own, fields);
  std::vector<Shape> shapes;
  bool differs = false;
  for (size_t i = 0; i < own.inputs().size(); ++i) {
    shapes.push_back(own.inputs()[i].shape);
    if (wiring.inputs[i] < 0) continue;
    const Shape& shape = fields[static_cast<size_t>(wiring.inputs[i])].shape;
    if (shape.rank() != shapes[i].rank()) return {};
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == shapes[i][axis]) continue;
      if (!open.is_open(i, axis)) return {};
      differs = true;
    }
    shapes[i] = shape;
  }
  return differs ? shapes : std::vector<Shape>();
}

std::map<std::string, Shape> weights_of(const Network& network) {
  std::map<std::string, Shape> weights;
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& weight : layer.weights) {
      weights.emplace(layer.name + "/" + weight.name, weight.shape);
    }
  }
  return weights;
}

void check_same_weights(const Network& own, const Network& other, const std::string& fields) {
  const std::map<std::string, Shape> wanted = weights_of(own);
  const std::map<std::string, Shape> found = weights_of(other);
  if (wanted == found) return;
  const auto place =
      std::ranges::mismatch(wanted, found).in1;  // the first weight that is not the same
  throw InvalidArgument("samples ", fields, " need other weights than the model has",
                        place == wanted.end() ? "" : concat(", such as '", place->first, "'"),
                        "; load the file with this size");
}

}  // namespace

void OtherSizes::set(OpenSizes open) {
  open_ = std::move(open);
  recent_.clear();
}

const Network* OtherSizes::find(const Network& own, const std::vector<Field>& fields,
                                const Drop& drop) {
  if (open_.network == nullptr || own.stages() > 1) return nullptr;
  const std::string key = to_string(fields);
  const auto known = std::ranges::find(recent_, key, &Entry::fields);
  if (known != recent_.end()) {
    recent_.splice(recent_.begin(), recent_, known);
    return &known->network;
  }
  const std::vector<Shape> shapes = other_shapes(open_, own, fields);
  if (shapes.empty()) return nullptr;
  Network network = open_.network(shapes);
  check_same_weights(own, network, key);
  recent_.push_front({key, std::move(network)});
  if (recent_.size() > kMost) {
    drop(recent_.back().fields);
    recent_.pop_back();
  }
  return &recent_.front().network;
}

bool OtherSizes::keep_only(const std::vector<Field>& fields, const Drop& drop) {
  const std::string key = to_string(fields);
  const auto count = std::erase_if(recent_, [&](const Entry& entry) {
    if (entry.fields == key) return false;
    drop(entry.fields);
    return true;
  });
  return count > 0;
}

}  // namespace pando::train
