// SPDX-License-Identifier: MIT
#include "pando/zoo/preprocessing.h"

#include <optional>

#include "pando/base/error.h"
#include "pando/data/image/augment.h"
#include "pando/nn/layers.h"
#include "pando/nn/pipeline_stage.h"

namespace pando {

namespace {

constexpr const char* kDecompressionLayer = "eight_bit_transfer_decompression_layer";
constexpr const char* kValuesLayer = "preprocessing_layer";

void check(const Shape& sample, const PreprocessOptions& options) {
  if (sample.rank() != 3) {
    throw InvalidArgument("preprocessing: expected samples [height, width, channels], got shape ",
                          sample);
  }
  if (options.values == PreprocessValues::normalise_imagenet && sample.back() != 3) {
    throw InvalidArgument(
        "preprocessing: normalise_imagenet: expected samples with 3 channels, got shape ", sample);
  }
  if (options.fused && options.values == PreprocessValues::none) {
    throw InvalidArgument(
        "preprocessing: fused: expected values standardise, normalise_imagenet or scale_255, got "
        "none");
  }
}

Layer values_layer(const PreprocessOptions& options) {
  if (options.values == PreprocessValues::standardise) {
    return StandardiseImage({.name = kValuesLayer});
  }
  if (options.values == PreprocessValues::scale_255) {
    return NormalisePixels({.scale = {1.0 / 255}, .name = kValuesLayer});
  }
  const ChannelMap map = normalise_imagenet();
  return NormalisePixels({.scale = {map.scale.begin(), map.scale.begin() + 3},
                          .shift = {map.shift.begin(), map.shift.begin() + 3},
                          .name = kValuesLayer});
}

}  // namespace

Network with_preprocessing(const Network& network, const PreprocessOptions& options) {
  if (network.inputs().size() != 1) {
    throw InvalidArgument("preprocessing: expected a network with one input, got ",
                          network.inputs().size());
  }
  const Shape sample = network.inputs()[0].shape;
  check(sample, options);
  std::optional<PipelineStage> stage;
  if (network.stage_assignment()[0].pipeline_stage >= 0 && PipelineStage::current() < 0) {
    stage.emplace(0);
  }
  std::vector<SymbolicTensor> inputs = {
      Input(sample, {.dtype = options.eight_bit ? DType::u8 : DType::f32})};
  SymbolicTensor x = inputs[0];
  if (options.flip) {
    inputs.push_back(Input({}, {.dtype = DType::u8, .name = "flip", .auxiliary = true}));
    x = FlipWhere({.name = "preprocessing_flip"})({x, inputs[1]});
  }
  if (options.eight_bit && !options.fused) {
    x = EightBitDecompression({.name = kDecompressionLayer})(x);
  }
  if (options.values != PreprocessValues::none) x = values_layer(options)(x);
  return Network(inputs, network(x));
}

}  // namespace pando
