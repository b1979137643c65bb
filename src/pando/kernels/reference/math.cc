// The functions of ops/math.cc with their slopes, and the choices and repetitions of ops/pick.cc,
// ops/select.cc and ops/spread.cc.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "pando/base/error.h"
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

struct MathFunction {
  double (*value)(double);
  double (*slope)(double);
};

double flat(double) { return 0; }
double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

const MathFunction& math_function(const ir::Node& node) {
  using D = double;
  static const std::map<std::string, MathFunction> functions = {
      {"abs", {[](D x) { return std::fabs(x); }, sign_of}},
      {"acos", {[](D x) { return std::acos(x); }, [](D x) { return -1 / std::sqrt(1 - x * x); }}},
      {"acosh", {[](D x) { return std::acosh(x); }, [](D x) { return 1 / std::sqrt(x * x - 1); }}},
      {"asin", {[](D x) { return std::asin(x); }, [](D x) { return 1 / std::sqrt(1 - x * x); }}},
      {"asinh", {[](D x) { return std::asinh(x); }, [](D x) { return 1 / std::sqrt(x * x + 1); }}},
      {"atan", {[](D x) { return std::atan(x); }, [](D x) { return 1 / (1 + x * x); }}},
      {"atanh", {[](D x) { return std::atanh(x); }, [](D x) { return 1 / (1 - x * x); }}},
      {"ceil", {[](D x) { return std::ceil(x); }, flat}},
      {"cos", {[](D x) { return std::cos(x); }, [](D x) { return -std::sin(x); }}},
      {"cosh", {[](D x) { return std::cosh(x); }, [](D x) { return std::sinh(x); }}},
      {"erf",
       {[](D x) { return std::erf(x); },
        [](D x) { return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x); }}},
      {"exp", {[](D x) { return std::exp(x); }, [](D x) { return std::exp(x); }}},
      {"floor", {[](D x) { return std::floor(x); }, flat}},
      {"log", {[](D x) { return std::log(x); }, [](D x) { return 1 / x; }}},
      {"not", {[](D x) { return x == 0 ? 1.0 : 0.0; }, flat}},
      {"reciprocal", {[](D x) { return 1 / x; }, [](D x) { return -1 / (x * x); }}},
      {"round", {[](D x) { return std::nearbyint(x); }, flat}},
      {"sign", {sign_of, flat}},
      {"sin", {[](D x) { return std::sin(x); }, [](D x) { return std::cos(x); }}},
      {"sinh", {[](D x) { return std::sinh(x); }, [](D x) { return std::cosh(x); }}},
      {"softsign",
       {[](D x) { return x / (1 + std::fabs(x)); },
        [](D x) { return 1 / ((1 + std::fabs(x)) * (1 + std::fabs(x))); }}},
      {"sqrt", {[](D x) { return std::sqrt(x); }, [](D x) { return 0.5 / std::sqrt(x); }}},
      {"tan", {[](D x) { return std::tan(x); }, [](D x) { return 1 + std::tan(x) * std::tan(x); }}},
  };
  const auto found = functions.find(ops::text_attribute(node, "function"));
  if (found == functions.end()) throw InternalError(node.label(), ": a function without kernel");
  return found->second;
}

struct Picked {
  explicit Picked(const ir::Node& node, const Shape& x)
      : indices(ops::ints_attribute(node, "indices")),
        extent(x[static_cast<int>(ops::int_attribute(node, "axis"))]),
        inner(x.elements_from(static_cast<int>(ops::int_attribute(node, "axis")) + 1)),
        outer(x.elements() / (extent * inner)) {}

  ir::Ints indices;
  int64_t extent;
  int64_t inner;
  int64_t outer;
};

}  // namespace

KernelOffer reference_math(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  const auto run = [count, value = math_function(node).value](const KernelArgs& args,
                                                              const StepArgs& step) {
    for (int64_t i = step.part.begin(count); i < step.part.end(count); ++i) {
      args.out()[i] = static_cast<float>(value(static_cast<double>(args.in(0)[i])));
    }
  };
  return offer_function("reference", run, {.splits = true});
}

KernelOffer reference_math_grad(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  const auto run = [count, slope = math_function(node).slope](const KernelArgs& args,
                                                              const StepArgs& step) {
    for (int64_t i = step.part.begin(count); i < step.part.end(count); ++i) {
      // Padded samples are 0 with dy = 0; there the slope may be infinite.
      const auto dy = static_cast<double>(args.in(0)[i]);
      const auto x = static_cast<double>(args.in(1)[i]);
      args.out()[i] = dy == 0 ? 0 : static_cast<float>(dy * slope(x));
    }
  };
  return offer_function("reference", run, {.splits = true});
}

KernelOffer reference_pick(const ir::Node& node) {
  const Picked picked(node, node.input(0)->shape());
  return offer_function("reference", [picked](const KernelArgs& args, const StepArgs&) {
    float* to = args.out();
    for (int64_t row = 0; row < picked.outer; ++row) {
      const float* from = args.in(0) + row * picked.extent * picked.inner;
      for (const int64_t index : picked.indices) {
        to = std::copy_n(from + index * picked.inner, picked.inner, to);
      }
    }
  });
}

KernelOffer reference_pick_grad(const ir::Node& node) {
  const Picked picked(node, node.output()->shape());
  return offer_function("reference", [picked](const KernelArgs& args, const StepArgs&) {
    const float* from = args.in(0);
    for (int64_t row = 0; row < picked.outer; ++row) {
      float* to = args.out() + row * picked.extent * picked.inner;
      std::fill_n(to, picked.extent * picked.inner, 0.0f);
      for (const int64_t index : picked.indices) {
        for (int64_t i = 0; i < picked.inner; ++i) to[index * picked.inner + i] += *from++;
      }
    }
  });
}

KernelOffer reference_select(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  const bool holds = ops::text_attribute(node, "when") == "holds";
  const bool has_other = node.num_inputs() > 2;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    for (int64_t i = step.part.begin(count); i < step.part.end(count); ++i) {
      const bool first = (args.in(0)[i] != 0) == holds;
      args.out()[i] = first ? args.in(1)[i] : has_other ? args.in(2)[i] : 0;
    }
  };
  return offer_function("reference", run, {.splits = true});
}

KernelOffer reference_spread(const ir::Node& node) {
  const int64_t batch = node.output()->shape()[0];
  const int64_t size = node.input(1)->shape().elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t n = 0; n < batch; ++n) std::copy_n(args.in(1), size, args.out() + n * size);
  });
}

KernelOffer reference_spread_sums(const ir::Node& node) {
  const int64_t size = node.output()->shape().elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs& step) {
    for (int64_t i = 0; i < size; ++i) {
      double sum = 0;
      for (int64_t n = 0; n < step.valid; ++n) sum += args.in(0)[n * size + i];
      args.out()[i] = static_cast<float>(sum);
    }
  });
}

}  // namespace pando::kernels
