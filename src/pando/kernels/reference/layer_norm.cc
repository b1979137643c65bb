// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

// All rows of a batch; `size` is the number of elements of a row.
struct LayerRows {
  LayerRows(const ir::Node& node, const Shape& x)
      : size(x.elements_from(x.rank() - static_cast<int>(ops::int_attribute(node, "axes")))),
        sample_rows(x.elements_from(1) / size),
        rows(x[0] * sample_rows) {}
  int64_t size;
  int64_t sample_rows;
  int64_t rows;
};

}  // namespace

KernelOffer reference_layer_norm(const ir::Node& node) {
  const LayerRows r(node, node.input(0)->shape());
  const double epsilon = ops::number_attribute(node, "epsilon");
  const bool scale = ops::int_attribute(node, "scale") == 1;
  const bool center = ops::int_attribute(node, "center") == 1;
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t row = 0; row < r.rows; ++row) {
      const float* x = args.in(0) + row * r.size;
      double sum = 0;
      double squares = 0;
      for (int64_t i = 0; i < r.size; ++i) sum += static_cast<double>(x[i]);
      const double mean = sum / static_cast<double>(r.size);
      for (int64_t i = 0; i < r.size; ++i) {
        squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
      }
      const double inv_std = 1 / std::sqrt(squares / static_cast<double>(r.size) + epsilon);
      for (int64_t i = 0; i < r.size; ++i) {
        const double gamma = scale ? static_cast<double>(args.in(1)[i]) : 1.0;
        const double beta = center ? static_cast<double>(args.in(scale ? 2 : 1)[i]) : 0.0;
        args.out(0)[row * r.size + i] =
            static_cast<float>(gamma * (static_cast<double>(x[i]) - mean) * inv_std + beta);
      }
      args.out(1)[row] = static_cast<float>(mean);
      args.out(2)[row] = static_cast<float>(inv_std);
    }
  });
}

KernelOffer reference_layer_norm_sums(const ir::Node& node) {
  const LayerRows r(node, node.input(1)->shape());
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    for (int64_t i = 0; i < r.size; ++i) {
      double dbeta = 0;
      double dgamma = 0;
      for (int64_t row = 0; row < step.valid * r.sample_rows; ++row) {
        const double dy = args.in(0)[row * r.size + i];
        const double away = static_cast<double>(args.in(1)[row * r.size + i]) -
                            static_cast<double>(args.in(2)[row]);
        dbeta += dy;
        dgamma += dy * away * static_cast<double>(args.in(3)[row]);
      }
      args.out(0)[i] = static_cast<float>(dbeta);
      args.out(1)[i] = static_cast<float>(dgamma);
    }
  });
}

KernelOffer reference_layer_norm_input_grad(const ir::Node& node) {
  const LayerRows r(node, node.input(1)->shape());
  const bool scale = ops::int_attribute(node, "scale") == 1;
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const auto count = static_cast<double>(r.size);
    for (int64_t row = 0; row < r.rows; ++row) {
      const double mean = args.in(2)[row];
      const double inv_std = args.in(3)[row];
      const auto scaled = [&](int64_t i) {  // the gradient of the normalised x
        const double dy = args.in(0)[row * r.size + i];
        return scale ? dy * static_cast<double>(args.in(4)[i]) : dy;
      };
      const auto normal = [&](int64_t i) {
        return (static_cast<double>(args.in(1)[row * r.size + i]) - mean) * inv_std;
      };
      double sum = 0;
      double products = 0;
      for (int64_t i = 0; i < r.size; ++i) {
        sum += scaled(i);
        products += scaled(i) * normal(i);
      }
      for (int64_t i = 0; i < r.size; ++i) {
        args.out()[row * r.size + i] =
            static_cast<float>(inv_std * (scaled(i) - sum / count - normal(i) * products / count));
      }
    }
  });
}

}  // namespace pando::kernels
