// A layer that consists of one op and has no weights.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pando/nn/layers/support.h"

namespace pando::nn {

struct OneOp {
  std::string class_name;
  std::string stem;
  std::string op;
  ir::Attributes attributes;
  int least_inputs = 1;
  int most_inputs = 1;
  std::string name;
  int sample_rank = 0;  // axes of a sample; 0: any
};

class OneOpLayer : public LayerDefinition {
 public:
  explicit OneOpLayer(OneOp spec) : spec_(std::move(spec)) {}
  std::string class_name() const override { return spec_.class_name; }
  std::string stem() const override { return spec_.stem; }
  int least_inputs() const override { return spec_.least_inputs; }
  int most_inputs() const override { return spec_.most_inputs; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    ir::Value* result = inputs[0];
    if (spec_.sample_rank > 0 && result->shape().rank() != spec_.sample_rank + 1) {
      throw InvalidArgument(
          class_name(), " '", builder.layer_name(), "': expected ", spec_.sample_rank - 1,
          " spatial axes between batch and channels, got shape ", result->shape());
    }
    if (inputs.size() == 1) return builder.append(spec_.op, {result}, spec_.attributes)->output();
    for (size_t i = 1; i < inputs.size(); ++i) {  // arithmetic takes two at a time
      result = builder.append(spec_.op, {result, inputs[i]}, spec_.attributes)->output();
    }
    return result;
  }

 private:
  OneOp spec_;
};

}  // namespace pando::nn
