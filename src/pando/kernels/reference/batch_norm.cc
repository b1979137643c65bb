// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/node_activation.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

// A channels-last tensor as rows of channels.
struct Rows {
  int64_t batch = 0;
  int64_t pixels = 0;
  int64_t channels = 0;

  explicit Rows(const Shape& x)
      : batch(x[0]), pixels(x.elements_from(1) / x.back()), channels(x.back()) {}
  int64_t count() const { return batch * pixels; }
};

// The statistics of one channel that batch_norm and its gradients use.
struct Channel {
  double mean;
  double inv_std;
  double normal(float x) const { return (static_cast<double>(x) - mean) * inv_std; }
};

Channel channel(float mean, float variance, double epsilon) {
  return {static_cast<double>(mean), 1 / std::sqrt(static_cast<double>(variance) + epsilon)};
}

// Masks dy where an activation of the normalised values has no slope.
struct Mask {
  NodeActivation activation;
  const float* gamma;  // null without an activation
  const float* beta;
  double operator()(double dy, double normal, int64_t c) const {
    if (activation.kind == Activation::none) return dy;
    const auto y =
        static_cast<float>(static_cast<double>(gamma[c]) * normal + static_cast<double>(beta[c]));
    return activation.slope(activation(y)) > 0 ? dy : 0;
  }
};

}  // namespace

KernelOffer reference_batch_moments(const ir::Node& node) {
  const Rows rows(node.input(0)->shape());
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    const int64_t count = step.valid * rows.pixels;
    const auto divisor = static_cast<double>(std::max<int64_t>(count, 1));
    for (int64_t c = 0; c < rows.channels; ++c) {
      double sum = 0;
      double squares = 0;
      for (int64_t r = 0; r < count; ++r) {
        sum += static_cast<double>(args.in(0)[r * rows.channels + c]);
      }
      for (int64_t r = 0; r < count; ++r) {
        const double away = static_cast<double>(args.in(0)[r * rows.channels + c]) - sum / divisor;
        squares += away * away;
      }
      args.out()[c] = static_cast<float>(sum / divisor);
      args.out()[rows.channels + c] = static_cast<float>(squares);
    }
    args.out()[2 * rows.channels] = static_cast<float>(count);
  });
}

// Joins the slices' moments by Chan, Golub and LeVeque's formula for two sets of values.
KernelOffer reference_combine_moments(const ir::Node& node) {
  const int64_t channels = node.output()->shape()[0];
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t c = 0; c < channels; ++c) {
      double count = 0;
      double mean = 0;
      double squares = 0;
      for (int slice = 0; slice < args.num_inputs; ++slice) {
        const float* moments = args.in(slice);
        const double more = moments[2 * channels];
        if (more == 0) continue;
        const double away = static_cast<double>(moments[c]) - mean;
        squares += static_cast<double>(moments[channels + c]) +
                   away * away * count * more / (count + more);
        count += more;
        mean += away * more / count;
      }
      args.out(0)[c] = static_cast<float>(mean);
      args.out(1)[c] = static_cast<float>(squares / std::max(count, 1.0));
      args.out(2)[c] = static_cast<float>(squares / std::max(count - 1, 1.0));
    }
  });
}

KernelOffer reference_batch_norm(const ir::Node& node) {
  const Rows rows(node.input(0)->shape());
  const double epsilon = ops::number_attribute(node, "epsilon");
  const NodeActivation activation = node_activation(node);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t c = 0; c < rows.channels; ++c) {
      const Channel known = channel(args.in(1)[c], args.in(2)[c], epsilon);
      const double gamma = args.in(3)[c];
      const double beta = args.in(4)[c];
      for (int64_t r = 0; r < rows.count(); ++r) {
        const int64_t at = r * rows.channels + c;
        args.out()[at] =
            activation(static_cast<float>(gamma * known.normal(args.in(0)[at]) + beta));
      }
    }
  });
}

KernelOffer reference_batch_norm_sums(const ir::Node& node) {
  const Rows rows(node.input(1)->shape());
  const double epsilon = ops::number_attribute(node, "epsilon");
  const NodeActivation activation = node_activation(node);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    const bool masks = activation.kind != Activation::none;
    const Mask mask{activation, masks ? args.in(4) : nullptr, masks ? args.in(5) : nullptr};
    for (int64_t c = 0; c < rows.channels; ++c) {
      const Channel known = channel(args.in(2)[c], args.in(3)[c], epsilon);
      double dbeta = 0;
      double dgamma = 0;
      for (int64_t r = 0; r < step.valid * rows.pixels; ++r) {
        const int64_t at = r * rows.channels + c;
        const double normal = known.normal(args.in(1)[at]);
        const double dy = mask(static_cast<double>(args.in(0)[at]), normal, c);
        dbeta += dy;
        dgamma += dy * normal;
      }
      args.out(0)[c] = static_cast<float>(dbeta);
      args.out(1)[c] = static_cast<float>(dgamma);
    }
  });
}

KernelOffer reference_batch_norm_input_grad(const ir::Node& node) {
  const Rows rows(node.input(1)->shape());
  const double epsilon = ops::number_attribute(node, "epsilon");
  const NodeActivation activation = node_activation(node);
  const bool totals = node.num_inputs() >= 7;
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    const Mask mask{activation, args.in(4), args.in(args.num_inputs - 1)};
    const auto count = static_cast<double>(step.batch_valid * rows.pixels);
    // Without totals, padding needs no special case: its dy is zero.
    const int64_t valid_rows = totals ? step.valid * rows.pixels : rows.count();
    for (int64_t c = 0; c < rows.channels; ++c) {
      const Channel known = channel(args.in(2)[c], args.in(3)[c], epsilon);
      const double scale = static_cast<double>(args.in(4)[c]) * known.inv_std;
      for (int64_t r = 0; r < rows.count(); ++r) {
        const int64_t at = r * rows.channels + c;
        const double normal = known.normal(args.in(1)[at]);
        double dx = r < valid_rows ? mask(static_cast<double>(args.in(0)[at]), normal, c) : 0;
        if (totals && r < valid_rows) {
          dx -= (static_cast<double>(args.in(5)[c]) + normal * static_cast<double>(args.in(6)[c])) /
                count;
        }
        args.out()[at] = static_cast<float>(scale * dx);
      }
    }
  });
}

KernelOffer reference_sum_slices(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) {
      double sum = 0;
      for (int slice = 0; slice < args.num_inputs; ++slice) {
        sum += static_cast<double>(args.in(slice)[i]);
      }
      args.out()[i] = static_cast<float>(sum);
    }
  });
}

KernelOffer reference_fold_batch_norm(const ir::Node& node) {
  const Shape& filter = node.input(0)->shape();
  const int64_t elements = filter.elements();
  const bool transposed = ops::int_attribute(node, "transposed") != 0;
  const int64_t inner = transposed ? filter.back() : 1;  // elements beside each other of a channel
  const int64_t channels = filter[filter.rank() - (transposed ? 2 : 1)];
  const double epsilon = ops::number_attribute(node, "epsilon");
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const auto scale = [&](int64_t c) {
      return static_cast<double>(args.in(3)[c]) *
             channel(args.in(1)[c], args.in(2)[c], epsilon).inv_std;
    };
    for (int64_t i = 0; i < elements; ++i) {
      args.out(0)[i] =
          static_cast<float>(static_cast<double>(args.in(0)[i]) * scale(i / inner % channels));
    }
    for (int64_t c = 0; c < channels; ++c) {
      const double bias = args.num_inputs > 5 ? static_cast<double>(args.in(5)[c]) : 0;
      const double offset = bias - static_cast<double>(args.in(1)[c]);
      args.out(1)[c] = static_cast<float>(offset * scale(c) + static_cast<double>(args.in(4)[c]));
    }
  });
}

KernelOffer reference_fold_scale(const ir::Node& node) {
  const Shape& filter = node.input(0)->shape();
  const int64_t elements = filter.elements();
  const int64_t channels = filter.back();
  const double factor = ops::number_attribute(node, "factor");
  const double offset = ops::number_attribute(node, "offset");
  const bool of_result = ops::text_attribute(node, "of") == "result";
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < elements; ++i) {
      args.out(0)[i] = static_cast<float>(static_cast<double>(args.in(0)[i]) * factor);
    }
    for (int64_t c = 0; c < channels; ++c) {
      const double bias = args.num_inputs > 1 ? static_cast<double>(args.in(1)[c]) : 0;
      double sum = 0;
      for (int64_t i = c; i < elements; i += channels) sum += static_cast<double>(args.in(0)[i]);
      args.out(1)[c] = static_cast<float>(of_result ? factor * bias + offset : bias + offset * sum);
    }
  });
}

}  // namespace pando::kernels
