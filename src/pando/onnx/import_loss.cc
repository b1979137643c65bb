// Losses with targets that the file knows. Files for training have them; here they show that our
// ops compute what ONNX says.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <numeric>
#include <optional>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

// What the file knows of the targets: the place of each picked logarithm in [N, C, ...], and its
// weight, negative because the loss is.
struct Targets {
  ir::Ints places;
  Constant weights;
  double total = 0;  // of the weights
};

Targets targets_of(const Importer& importer, const NodeProto& node, const Shape& x) {
  const Constant& targets = importer.need(node, 1, "the targets");
  const Constant* weights = importer.known(node, 2);
  if (importer.has(node, 2) && weights == nullptr) importer.need(node, 2, "the weights");
  const AttributeProto* ignored = node.find("ignore_index");
  const int64_t classes = x.rank() < 2 ? 0 : x[1];
  const int64_t inner = classes == 0 ? 0 : x.elements_from(2);
  if (classes == 0 || targets.is_real || targets.elements() != x[0] * inner ||
      (weights != nullptr && weights->elements() != classes)) {
    throw InvalidArgument(label(node), ": targets or weights do not fit logarithms of shape ", x);
  }
  Targets found;
  found.weights.dims = {targets.elements()};
  for (int64_t i = 0; i < targets.elements(); ++i) {
    const int64_t target = targets.ints[static_cast<size_t>(i)];
    const bool skip = ignored != nullptr && target == ignored->i;
    if (!skip && (target < 0 || target >= classes)) {
      throw InvalidArgument(label(node), ": target ", target, ": expected 0 to ", classes - 1);
    }
    const int64_t row = skip ? 0 : target;
    const double weight = skip                 ? 0
                          : weights != nullptr ? weights->number(static_cast<size_t>(row))
                                               : 1;
    found.places.push_back((i / inner * classes + row) * inner + i % inner);
    found.weights.reals.push_back(static_cast<float>(-weight));
    found.total += weight;
  }
  return found;
}

// The loss from logarithms of probabilities [N, C, ...], which are one sample of the network.
void give_loss(Importer& importer, const NodeProto& node, const Computed& logs) {
  const Targets targets = targets_of(importer, node, logs.shape);
  const Computed flat = importer.reshaped(node, logs, {logs.shape.elements()});
  const Computed picked =
      importer.step(node, "pick", {{"axis", int64_t{1}}, {"indices", targets.places}}, {flat});
  const Computed losses =
      importer.step(node, "multiply", {},
                    {picked, importer.spread(node, targets.weights, plain_order(2), false)});
  const std::string reduction = word_attribute(node, "reduction", {"mean", "sum", "none"});
  if (reduction == "none") {
    std::vector<int64_t> dims(logs.shape.begin(), logs.shape.end());
    dims.erase(dims.begin() + 1);
    return importer.give(node, importer.reshaped(node, losses, Shape(dims)),
                         plain_order(dims.size() + 1));
  }
  Computed sum = importer.step(node, "reduce_sum",
                               {{"axes", ir::Ints{1}}, {"keepdims", int64_t{0}}}, {losses});
  if (reduction == "mean") sum = importer.scaled(node, sum, 1 / targets.total);
  importer.give(node, sum, plain_order(1));
}

void require_whole_batch(const Importer& importer, const NodeProto& node) {
  if (importer.lead() == 0) {
    throw Unsupported(label(node), ": a loss inside of a network; import what is before it");
  }
}

void import_likelihood(Importer& importer, const NodeProto& node) {
  require_whole_batch(importer, node);
  give_loss(importer, node, importer.plain(importer.operand(node, 0)));
}

void import_cross_entropy(Importer& importer, const NodeProto& node) {
  require_whole_batch(importer, node);
  const Value& value = importer.operand(node, 0);
  const auto rank = value.order.size();
  if (rank < 3) throw Unsupported(label(node), ": expected scores [N, C, ...]");
  Order order = plain_order(rank);  // classes last
  order.erase(order.begin() + 2);
  order.push_back(2);
  Value logs;
  logs.computed = log_softmax(importer, node, importer.ordered(value, order));
  logs.order = order;
  give_loss(importer, node, importer.plain(logs));
  importer.give(node, logs, 1);
}

}  // namespace

std::vector<OpImport> loss_imports() {
  return {{"NegativeLogLikelihoodLoss", import_likelihood},
          {"SoftmaxCrossEntropyLoss", import_cross_entropy}};
}

}  // namespace pando::onnx
