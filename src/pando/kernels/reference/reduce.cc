// Reductions over axes, and permutations of axes.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/kernels/reference/strided_places.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

// The elements of the result into which those of x go.
struct Reduced : StridedPlaces {
  Reduced(const ir::Node& node, const Shape& x) : StridedPlaces(x) {
    const ir::Ints axes = ops::ints_attribute(node, "axes");
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
      strides[static_cast<size_t>(axis)] = results;
      results *= x[axis];
    }
  }
  int64_t results = 1;
};

KernelOffer reduced_sum(const ir::Node& node, bool mean) {
  const Reduced reduced(node, node.input(0)->shape());
  const int64_t count = reduced.whole.elements();
  const double divisor =
      mean ? static_cast<double>(count) / static_cast<double>(reduced.results) : 1.0;
  const auto run = [=](const KernelArgs& args, const StepArgs&) {
    auto* sums = reinterpret_cast<double*>(args.scratch);
    std::fill_n(sums, reduced.results, 0.0);
    for (int64_t i = 0; i < count; ++i) {
      const double factor = args.num_inputs > 1 ? static_cast<double>(args.in(1)[i]) : 1.0;
      sums[reduced.place(i)] += static_cast<double>(args.in(0)[i]) * factor;
    }
    for (int64_t i = 0; i < reduced.results; ++i) {
      args.out()[i] = static_cast<float>(sums[i] / divisor);
    }
  };
  return offer_function("reference", run,
                        {.scratch_bytes = static_cast<size_t>(reduced.results) * sizeof(double)});
}

// `better(x, best)` says whether x replaces the best number so far.
template <typename Better>
KernelOffer reduced_extreme(const ir::Node& node, Better better) {
  const Reduced reduced(node, node.input(0)->shape());
  const int64_t count = reduced.whole.elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    const float* x = args.in(0);
    for (int64_t i = count - 1; i >= 0; --i) args.out()[reduced.place(i)] = x[i];  // the first ones
    for (int64_t i = 0; i < count; ++i) {
      float& best = args.out()[reduced.place(i)];
      if (better(x[i], best)) best = x[i];
    }
  });
}

}  // namespace

KernelOffer reference_reduce_sum(const ir::Node& node) { return reduced_sum(node, false); }
KernelOffer reference_reduce_mean(const ir::Node& node) { return reduced_sum(node, true); }
KernelOffer reference_reduce_max(const ir::Node& node) {
  return reduced_extreme(node, [](float x, float best) { return x > best; });
}
KernelOffer reference_reduce_min(const ir::Node& node) {
  return reduced_extreme(node, [](float x, float best) { return x < best; });
}

KernelOffer reference_reduce_extreme_grad(const ir::Node& node) {
  const Reduced reduced(node, node.input(1)->shape());
  const int64_t count = reduced.whole.elements();
  const auto run = [=](const KernelArgs& args, const StepArgs&) {
    auto* equal = reinterpret_cast<int64_t*>(args.scratch);
    std::fill_n(equal, reduced.results, 0);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = reduced.place(i);
      if (args.in(1)[i] == args.in(2)[place]) ++equal[place];
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = reduced.place(i);
      const bool hit = args.in(1)[i] == args.in(2)[place];
      args.out()[i] = hit ? args.in(0)[place] / static_cast<float>(equal[place]) : 0;
    }
  };
  return offer_function("reference", run,
                        {.scratch_bytes = static_cast<size_t>(reduced.results) * sizeof(int64_t)});
}

KernelOffer reference_transpose(const ir::Node& node) {
  const Shape& x = node.input(0)->shape();
  const ir::Ints perm = ops::ints_attribute(node, "perm");
  StridedPlaces places(node.output()->shape());
  for (size_t i = 0; i < perm.size(); ++i) {
    places.strides[i] = x.elements_from(static_cast<int>(perm[i]) + 1);
  }
  const int64_t count = x.elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) args.out()[i] = args.in(0)[places.place(i)];
  });
}

}  // namespace pando::kernels
