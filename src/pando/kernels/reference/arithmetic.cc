// SPDX-License-Identifier: MIT
#include "pando/base/random.h"
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/node_activation.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

KernelOffer reference_add(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  const NodeActivation activation = node_activation(node);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) {
      args.out()[i] = activation(args.in(0)[i] + args.in(1)[i]);
    }
  });
}

KernelOffer reference_multiply(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) args.out()[i] = args.in(0)[i] * args.in(1)[i];
  });
}

KernelOffer reference_channel_sums(const ir::Node& node) {
  const int64_t channels = node.output()->shape().back();
  const int64_t count = node.input(0)->shape().elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (int64_t i = c; i < count; i += channels) sum += static_cast<double>(args.in(0)[i]);
      args.out()[c] = static_cast<float>(sum);
    }
  });
}

KernelOffer reference_scale(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  const auto factor = static_cast<float>(ops::number_attribute(node, "factor"));
  const auto offset = static_cast<float>(ops::number_attribute(node, "offset"));
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) args.out()[i] = args.in(0)[i] * factor + offset;
  });
}

KernelOffer reference_dropout(const ir::Node& node) {
  const int64_t batch = node.output()->shape()[0];
  const int64_t size = node.output()->shape().elements_from(1);
  const auto rate = static_cast<float>(ops::number_attribute(node, "rate"));
  const auto key = static_cast<uint64_t>(ops::int_attribute(node, "key"));
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    const uint64_t mixed = mix_keys(step.seed, key);
    for (int64_t i = 0; i < batch * size; ++i) {
      const auto sample = static_cast<uint64_t>(step.first_sample + i / size);
      const auto element = static_cast<uint32_t>(i % size);
      const uint32_t word = philox(
          {element / 4, static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32), 0},
          mixed)[element % 4];
      args.out()[i] = to_unit_float(word) >= rate ? args.in(0)[i] / (1 - rate) : 0;
    }
  });
}

KernelOffer reference_loss_seed(const ir::Node& node) {
  const int64_t batch = node.output()->shape()[0];
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    for (int64_t n = 0; n < batch; ++n) args.out()[n] = n < step.valid ? step.loss_scale : 0;
  });
}

KernelOffer reference_weigh(const ir::Node& node) {
  const int64_t batch = node.output()->shape()[0];
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t n = 0; n < batch; ++n) {
      args.out()[n] = args.in(0)[n] * (args.num_inputs > 1 ? args.in(1)[n] : 1);
    }
  });
}

}  // namespace pando::kernels
