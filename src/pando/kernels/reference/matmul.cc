// SPDX-License-Identifier: MIT
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

KernelOffer reference_matmul(const ir::Node& node) {
  const Shape& a = node.input(0)->shape();
  const Shape& y = node.output()->shape();
  const int rank = y.rank();
  const int64_t rows = y[rank - 2];
  const int64_t columns = y[rank - 1];
  const bool ta = ops::int_attribute(node, "transpose_a") == 1;
  const bool tb = ops::int_attribute(node, "transpose_b") == 1;
  const int64_t inner = a[ta ? rank - 2 : rank - 1];
  const int64_t count = y.elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t matrix = i / (rows * columns);
      const int64_t row = i / columns % rows;
      const int64_t column = i % columns;
      const float* left = args.in(0) + matrix * rows * inner;
      const float* right = args.in(1) + matrix * inner * columns;
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k) {
        sum += static_cast<double>(left[ta ? k * rows + row : row * inner + k]) *
               static_cast<double>(right[tb ? column * inner + k : k * columns + column]);
      }
      args.out()[i] = static_cast<float>(sum);
    }
  });
}

}  // namespace pando::kernels
