// Notices training that does not move: weights that stay the same, or a loss that does.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pando/tensor/tensor.h"
#include "pando/train/callback.h"

namespace pando {

// Tells once, after an execution,
// - that the last layer's weights have hardly changed in 100 weight updates: their gradients are
//   zero, or so large that they were cut off;
// - that the mean loss of updates 250 to 500 since compile() differs by less than 0.3 % from
//   that of the updates before.
// Looks only at one layer and at sums that the fit has anyway, which are the same on all instances.
class StagnationWatch : public Callback {
 public:
  explicit StagnationWatch(std::function<void(const std::string&)> tell) : tell_(std::move(tell)) {}

  void on_train_begin(FitContext& context) override;
  void on_execution_end(FitContext& context, const Logs& logs) override;

 private:
  struct MeanLoss {
    double loss = 0;
    double samples = 0;
    double mean() const { return loss / samples; }
  };
  void watch_weights(const FitContext& context);
  void watch_loss(const FitContext& context);

  std::function<void(const std::string&)> tell_;
  std::string watched_;  // name of the weights; empty: none is trained, or already warned
  std::optional<Tensor> weights_;
  int64_t since_ = 0;  // the weight update after which they were taken
  bool watches_loss_ = false;
  MeanLoss first_, second_;
};

}  // namespace pando
