// SPDX-License-Identifier: MIT
#include "pando/train/test_time_flip.h"

#include <vector>

#include "pando/base/error.h"
#include "pando/nn/layers.h"
#include "pando/nn/pipeline_stage.h"
#include "pando/train/model_impl.h"

namespace pando {

namespace train {

namespace {

void check_views(const Network& network) {
  const Shape& sample = network.inputs()[0].shape;
  if (network.features() != 1 || sample.rank() != 3) {
    throw InvalidArgument(
        "test-time flip: expected a network that takes one picture [height, width, channels], got ",
        network.features() == 1 ? concat("samples of shape ", sample)
                                : concat(network.features(), " inputs"));
  }
  if (network.outputs().size() != 1 || network.outputs()[0].shape.rank() != 1) {
    throw InvalidArgument(
        "test-time flip: expected a network whose one output does not depend on places in the "
        "picture, such as probabilities of classes, got ",
        network.outputs().size() == 1 ? concat("an output of shape ", network.outputs()[0].shape)
                                      : concat(network.outputs().size(), " outputs"));
  }
}

// Calls a layer, in this stage if the network has stages.
SymbolicTensor call_in(const Network& network, int stage, const Layer& layer,
                       const std::vector<SymbolicTensor>& inputs) {
  if (network.stages() == 1) return layer(inputs);
  const PipelineStage scope(stage);
  return layer(inputs);
}

}  // namespace

Network with_test_time_flip(const Network& network) {
  check_views(network);
  std::vector<SymbolicTensor> inputs;
  for (const NetworkInput& one : network.inputs()) {
    inputs.push_back(
        Input(one.shape, {.dtype = one.dtype, .name = one.name, .auxiliary = one.auxiliary}));
  }
  std::vector<SymbolicTensor> mirrored = inputs;
  mirrored[0] = call_in(network, 0, Mirror({.name = "test_time_flip_mirror"}), {inputs[0]});
  return Network(inputs, call_in(network, network.stages() - 1, Average({.name = "test_time_flip"}),
                                 {network(inputs), network(mirrored)}));
}

}  // namespace train

void Model::set_test_time_flip(bool flips) {
  const Impl::Use use(*impl_);
  if (flips) train::with_test_time_flip(impl_->network);
  if (impl_->test_time_flip == flips) return;
  impl_->test_time_flip = flips;
  impl_->drop_programs(RunMode::evaluate);
  impl_->drop_programs(RunMode::predict);
}

}  // namespace pando
