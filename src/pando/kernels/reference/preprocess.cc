// Ops that convert the pixels of an image into the inputs of a network.
// SPDX-License-Identifier: MIT
#include "pando/base/deviation.h"
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

double pixel(const KernelArgs& args, DType dtype, int64_t i) {
  return dtype == DType::u8 ? args.in_as<uint8_t>(0)[i] : static_cast<double>(args.in(0)[i]);
}

template <typename T>
void flip(const KernelArgs& args, const Shape& shape, bool all) {
  const int64_t width = shape[2];
  const int64_t channels = shape[3];
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const int64_t n = i / shape.elements_from(1);
    const int64_t x = i / channels % width;
    const int64_t from = all || args.in_as<uint8_t>(1)[n] != 0 ? width - 1 - x : x;
    args.out_as<T>(0)[i] = args.in_as<T>(0)[i + (from - x) * channels];
  }
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments sample_moments(const KernelArgs& args, DType dtype, int64_t first, int64_t count) {
  Moments moments;
  for (int64_t i = first; i < first + count; ++i) moments.mean += pixel(args, dtype, i);
  moments.mean /= static_cast<double>(count);
  for (int64_t i = first; i < first + count; ++i) {
    const double away = pixel(args, dtype, i) - moments.mean;
    moments.variance += away * away;
  }
  moments.variance /= static_cast<double>(count);
  return moments;
}

}  // namespace

KernelOffer reference_flip_where(const ir::Node& node) {
  const ir::TensorType type = node.output()->type();
  const bool all = node.inputs().size() == 1;
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    if (type.dtype == DType::u8) return flip<uint8_t>(args, type.shape, all);
    flip<float>(args, type.shape, all);
  });
}

KernelOffer reference_normalise_pixels(const ir::Node& node) {
  const DType dtype = node.input(0)->type().dtype;
  const int64_t old_channels = node.input(0)->shape().back();
  const int64_t channels = node.output()->shape().back();
  const int64_t count = node.output()->shape().elements();
  const ir::Numbers scale = ops::numbers_attribute(node, "scale");
  const ir::Numbers shift = ops::numbers_attribute(node, "shift");
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t c = i % channels;
      const auto at = static_cast<size_t>(c);
      args.out()[i] =
          c < old_channels
              ? static_cast<float>(pixel(args, dtype, i / channels * old_channels + c) * scale[at] +
                                   shift[at])
              : 0;
    }
  });
}

KernelOffer reference_standardise_image(const ir::Node& node) {
  const DType dtype = node.input(0)->type().dtype;
  const int64_t old_channels = node.input(0)->shape().back();
  const int64_t channels = node.output()->shape().back();
  const int64_t batch = node.output()->shape().front();
  const int64_t old_count = node.input(0)->shape().elements_from(1);
  const int64_t count = node.output()->shape().elements_from(1);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t n = 0; n < batch; ++n) {
      const Moments moments = sample_moments(args, dtype, n * old_count, old_count);
      const double scale = inverse_deviation(moments.mean, moments.variance);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t from = n * old_count + i / channels * old_channels + i % channels;
        args.out()[n * count + i] =
            i % channels < old_channels
                ? static_cast<float>((pixel(args, dtype, from) - moments.mean) * scale)
                : 0;
      }
    }
  });
}

}  // namespace pando::kernels
