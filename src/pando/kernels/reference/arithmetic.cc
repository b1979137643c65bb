// SPDX-License-Identifier: MIT
#include <cmath>
#include <numbers>

#include "pando/base/random.h"
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

// The four random words to which that of an element of a sample belongs.
std::array<uint32_t, 4> words_of(int64_t sample, uint32_t element, uint64_t key) {
  const auto number = static_cast<uint64_t>(sample);
  return philox(
      {element / 4, static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), 0}, key);
}

}  // namespace

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
  // The number of masks of a sample; an element has the mask of its number modulo that.
  const std::string mask = ops::text_attribute(node, "mask");
  const int64_t masks =
      mask == "element" ? size : (mask == "channel" ? node.output()->shape().back() : 1);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    const uint64_t mixed = mix_keys(step.seed, key);
    for (int64_t i = 0; i < batch * size; ++i) {
      const auto element = static_cast<uint32_t>(i % size % masks);
      const uint32_t word = words_of(step.first_sample + i / size, element, mixed)[element % 4];
      args.out()[i] = to_unit_float(word) >= rate ? args.in(0)[i] / (1 - rate) : 0;
    }
  });
}

KernelOffer reference_gaussian_noise(const ir::Node& node) {
  const int64_t batch = node.output()->shape()[0];
  const int64_t size = node.output()->shape().elements_from(1);
  const double deviation = ops::number_attribute(node, "stddev");
  const auto key = static_cast<uint64_t>(ops::int_attribute(node, "key"));
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    const uint64_t mixed = mix_keys(step.seed, key);
    for (int64_t i = 0; i < batch * size; ++i) {
      const auto element = static_cast<uint32_t>(i % size);
      const auto words = words_of(step.first_sample + i / size, element, mixed);
      const uint32_t pair = element % 4 / 2 * 2;
      const double unit = static_cast<double>(to_unit_float(words[pair])) + 0x1.0p-24;
      const double angle =
          2 * std::numbers::pi * static_cast<double>(to_unit_float(words[pair + 1]));
      const double length = deviation * std::sqrt(-2 * std::log(unit));
      const double noise = length * (element % 2 == 0 ? std::cos(angle) : std::sin(angle));
      args.out()[i] = static_cast<float>(static_cast<double>(args.in(0)[i]) + noise);
    }
  });
}

KernelOffer reference_loss_seed(const ir::Node& node) {
  const int64_t batch = node.output()->shape()[0];
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    for (int64_t n = 0; n < batch; ++n) args.out()[n] = n < step.valid ? step.loss_scale : 0;
  });
}

KernelOffer reference_sum_losses(const ir::Node& node) {
  const int64_t batch = node.output()->shape()[0];
  const auto a = static_cast<float>(ops::number_attribute(node, "weight_a"));
  const auto b = static_cast<float>(ops::number_attribute(node, "weight_b"));
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t n = 0; n < batch; ++n) {
      args.out()[n] = a * args.in(0)[n] + (args.num_inputs > 1 ? b * args.in(1)[n] : 0);
    }
  });
}

KernelOffer reference_weigh(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  const int64_t each = count / node.output()->shape()[0];
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) {
      args.out()[i] = args.in(0)[i / each] * (args.num_inputs > 1 ? args.in(1)[i] : 1);
    }
  });
}

}  // namespace pando::kernels
