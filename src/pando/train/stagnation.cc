// SPDX-License-Identifier: MIT
#include "pando/train/stagnation.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "pando/train/model.h"

namespace pando {

namespace {

constexpr int64_t kStillUpdates = 100;
constexpr double kSmallChange = 1e-6;  // of the largest weight
constexpr int64_t kFirstUpdates = 250;
constexpr int64_t kLossUpdates = 500;
constexpr double kSmallLossChange = 3e-3;  // more than the noise of this many batches

// The largest weights of the last layer that is trained: it has the gradients that vanish last.
std::string last_trained(const Model& model) {
  const std::vector<LayerInfo>& layers = model.network().layers();
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (!model.trainable(layer->name)) continue;
    const nn::WeightSpec* largest = nullptr;
    for (const nn::WeightSpec& weight : layer->weights) {
      if (weight.is_state()) continue;
      const bool larger = largest == nullptr || weight.shape.elements() > largest->shape.elements();
      if (larger) largest = &weight;
    }
    if (largest != nullptr) return layer->name + "/" + largest->name;
  }
  return "";
}

Tensor weights_of(const Model& model, const std::string& name) {
  return cast(model.get_weight(name), DType::f32);
}

bool has_moved(const Tensor& before, const Tensor& now) {
  double most = 0, change = 0;
  for (size_t i = 0; i < before.f32().size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(before.f32()[i])));
    change = std::max(
        change, std::abs(static_cast<double>(now.f32()[i]) - static_cast<double>(before.f32()[i])));
  }
  return !(change <= kSmallChange * most);
}

}  // namespace

void StagnationWatch::on_train_begin(FitContext& context) {
  watched_ = last_trained(*context.model);
  if (!watched_.empty()) weights_ = weights_of(*context.model, watched_);
  since_ = context.updates;
  watches_loss_ = context.updates == 0;  // later a loss may have reached its end
  first_ = second_ = {};
}

void StagnationWatch::on_execution_end(FitContext& context, const Logs&) {
  watch_weights(context);
  watch_loss(context);
}

void StagnationWatch::watch_weights(const FitContext& context) {
  const int64_t updates = context.updates - since_;
  if (watched_.empty() || updates < kStillUpdates) return;
  Tensor now = weights_of(*context.model, watched_);
  // With a rate of zero, at the end of a schedule, weights rightly do not change.
  if (has_moved(*weights_, now) || context.model->learning_rate() == 0) {
    weights_ = std::move(now);
    since_ = context.updates;
    return;
  }
  tell_(fmt::format(
      "warning: the weights '{}' have not changed in {} weight updates: gradients are zero or too "
      "large for their number format. Use automatic loss scaling (--auto-loss-scaling), another "
      "--loss-scaling, --precision 32.32 or bf16.32, or another learning rate ({:g} now)",
      watched_, updates, context.model->learning_rate()));
  watched_.clear();
  watches_loss_ = false;
}

void StagnationWatch::watch_loss(const FitContext& context) {
  if (!watches_loss_) return;
  MeanLoss& part = first_.samples == 0 || context.updates <= kFirstUpdates ? first_ : second_;
  part.loss += static_cast<double>(context.sums.sum("loss"));
  part.samples += static_cast<double>(context.sums.samples);
  if (context.updates < kLossUpdates || second_.samples == 0) return;
  watches_loss_ = false;
  const double change = std::abs(second_.mean() - first_.mean());
  if (!(change < kSmallLossChange * std::abs(first_.mean()))) return;
  tell_(fmt::format(
      "warning: the loss does not move: {:.6g} at first, {:.6g} after {} weight updates. Check the "
      "labels and the learning rate ({:g} now), and in half precision the loss scaling",
      first_.mean(), second_.mean(), context.updates, context.model->learning_rate()));
}

}  // namespace pando
