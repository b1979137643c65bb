// Functions that all losses share.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pando/nn/losses.h"
#include "pando/ops/builder.h"

namespace pando::nn {

// Appends a loss op over `output`, the labels and, if there is one, the sample weight.
inline ir::Value* append_loss(const LossInputs& in, const std::string& op, ir::Value* output,
                              ir::Attributes attributes) {
  std::vector<ir::Value*> inputs = {output, in.labels};
  if (in.sample_weight != nullptr) inputs.push_back(in.sample_weight);
  return ops::append(*in.graph, {.op = op,
                                 .inputs = std::move(inputs),
                                 .attributes = std::move(attributes),
                                 .name = "loss"})
      ->output();
}

// The values that a loss is computed from. If the network ends with the op that makes probabilities
// of logits, these are its logits, so that the loss stays exact where the probabilities would
// underflow.
struct LossOutput {
  ir::Value* value = nullptr;
  bool from_logits = false;
};
inline LossOutput loss_output(ir::Value* output, bool from_logits, const char* probability_op) {
  const ir::Node* producer = output->producer();
  if (!from_logits && producer != nullptr && producer->op() == probability_op) {
    return {producer->input(0), true};
  }
  return {output, from_logits};
}

}  // namespace pando::nn
