// Compares the direct dense layer with plain loops, on every instruction set of this CPU.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/direct_dense.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "tests/support/close_floats.h"
#include "tests/support/isa.h"

namespace pando::kernels {
namespace {

using test::expect_close;
using test::Floats;
using test::isas_of_this_cpu;
using test::SetIsa;
using test::test_values;

// All operands of a layer. Memory has exactly the requested size, so that a sanitizer detects
// overruns.
struct Layer {
  explicit Layer(const DenseGeometry& geometry)
      : g(geometry),
        x(test_values(g.batch * g.features, 1)),
        filter(test_values(g.features * g.units, 2)),
        bias(test_values(g.units, 3)),
        dy(test_values(g.batch * g.units, 4)) {}

  DenseGeometry g;
  Floats x, filter, bias, dy;
};

// Element (i, j) of a product of two matrices that are read with any strides.
struct Operand {
  const Floats& values;
  int64_t row_stride;
  int64_t column_stride;
  double at(int64_t i, int64_t j) const {
    return static_cast<double>(values[static_cast<size_t>(i * row_stride + j * column_stride)]);
  }
};

struct Extents {
  int64_t rows, columns, depth;
};

Floats product(const Operand& a, const Operand& b, const Extents& e) {
  Floats result;
  for (int64_t i = 0; i < e.rows; ++i) {
    for (int64_t j = 0; j < e.columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < e.depth; ++k) sum += a.at(i, k) * b.at(k, j);
      result.push_back(static_cast<float>(sum));
    }
  }
  return result;
}

// Filled with NaN, to detect elements that are not written.
Floats unwritten(int64_t count) { return Floats(static_cast<size_t>(count), std::nanf("")); }

std::unique_ptr<std::byte[]> scratch_of(size_t bytes) {
  return std::make_unique<std::byte[]>(bytes);
}

Floats forward(const Layer& layer, const Epilogue& epilogue, int parts) {
  const DirectDense dense(layer.g);
  Floats y = unwritten(layer.g.batch * layer.g.units);
  for (int i = 0; i < parts; ++i) {
    const auto scratch = scratch_of(dense.forward_scratch_bytes());
    dense.forward({layer.x.data(), layer.filter.data(), epilogue, y.data()}, scratch.get(),
                  {i, parts});
  }
  return y;
}

Floats input_grad(const Layer& layer, int parts) {
  const DirectDense dense(layer.g);
  Floats dx = unwritten(layer.g.batch * layer.g.features);
  for (int i = 0; i < parts; ++i) {
    const auto scratch = scratch_of(dense.input_grad_scratch_bytes());
    dense.input_grad({layer.dy.data(), layer.filter.data(), dx.data()}, scratch.get(), {i, parts});
  }
  return dx;
}

// The gradient of the weights followed by that of the bias, summed over the parts.
Floats filter_grad(const Layer& layer, bool bias, int parts) {
  const DirectDense dense(layer.g);
  const int64_t count = layer.g.features * layer.g.units;
  Floats total(static_cast<size_t>(count + (bias ? layer.g.units : 0)));
  for (int i = 0; i < parts; ++i) {
    const auto scratch = scratch_of(dense.filter_grad_scratch_bytes());
    Floats filter = unwritten(count);
    Floats own_bias = unwritten(layer.g.units);
    dense.filter_grad(
        {layer.x.data(), layer.dy.data(), filter.data(), bias ? own_bias.data() : nullptr},
        scratch.get(), {i, parts});
    if (bias) filter.insert(filter.end(), own_bias.begin(), own_bias.end());
    for (size_t e = 0; e < filter.size(); ++e) total[e] += filter[e];
  }
  return total;
}

class DirectDenseCases : public testing::TestWithParam<DenseGeometry> {
 protected:
  // Calls function(what, parts) for every instruction set and number of parts.
  template <typename Function>
  void for_each_way(Function function) {
    for (const char* isa : isas_of_this_cpu()) {
      const SetIsa set(isa);
      for (const int parts : {1, 2, 3}) function(concat(isa, ", parts ", parts), parts);
    }
  }
};

TEST_P(DirectDenseCases, Forward) {
  const Layer layer(GetParam());
  const auto [batch, features, units] = layer.g;
  const Floats plain =
      product({layer.x, features, 1}, {layer.filter, units, 1}, {batch, units, features});
  Floats finished = plain;
  for (size_t i = 0; i < finished.size(); ++i) {
    finished[i] += layer.bias[i % layer.bias.size()];
    if (finished[i] < 0) finished[i] *= 0.25f;
  }
  const Epilogue epilogue{layer.bias.data(), Activation::leaky_relu, 0.25f};
  for_each_way([&](const std::string& what, int parts) {
    expect_close(forward(layer, {}, parts), plain, what);
    expect_close(forward(layer, epilogue, parts), finished, what + " with epilogue");
  });
}

TEST_P(DirectDenseCases, InputGrad) {
  const Layer layer(GetParam());
  const auto [batch, features, units] = layer.g;
  const Floats wanted =
      product({layer.dy, units, 1}, {layer.filter, 1, units}, {batch, features, units});
  for_each_way([&](const std::string& what, int parts) {
    expect_close(input_grad(layer, parts), wanted, what);
  });
}

TEST_P(DirectDenseCases, FilterGrad) {
  const Layer layer(GetParam());
  const auto [batch, features, units] = layer.g;
  const Floats filter =
      product({layer.x, 1, features}, {layer.dy, units, 1}, {features, units, batch});
  const Floats ones(static_cast<size_t>(batch), 1.0f);
  Floats both = filter;
  for (const float sum : product({ones, 0, 1}, {layer.dy, units, 1}, {1, units, batch})) {
    both.push_back(sum);
  }
  for_each_way([&](const std::string& what, int parts) {
    expect_close(filter_grad(layer, false, parts), filter, what);
    expect_close(filter_grad(layer, true, parts), both, what + " with bias");
  });
}

// A sample keeps its bits when it moves from the end of the batch to the front, or is computed in
// other parts.
TEST_P(DirectDenseCases, SampleDependsOnNeitherNeighboursNorParts) {
  const Layer layer(GetParam());
  Layer moved = layer;
  std::rotate(moved.x.begin(), moved.x.end() - layer.g.features, moved.x.end());
  std::rotate(moved.dy.begin(), moved.dy.end() - layer.g.units, moved.dy.end());
  for_each_way([&](const std::string& what, int parts) {
    Floats y = forward(layer, {}, 1);
    std::rotate(y.begin(), y.end() - layer.g.units, y.end());
    EXPECT_EQ(forward(moved, {}, parts), y) << what;
    Floats dx = input_grad(layer, 1);
    std::rotate(dx.begin(), dx.end() - layer.g.features, dx.end());
    EXPECT_EQ(input_grad(moved, parts), dx) << what;
    EXPECT_EQ(filter_grad(layer, true, parts), filter_grad(layer, true, 1)) << what;
  });
}

std::vector<DenseGeometry> dense_cases() {
  std::vector<DenseGeometry> cases;
  for (const int64_t batch : {1, 2, 3, 16, 33}) {
    for (const int64_t features : {1, 5, 17, 64}) {
      for (const int64_t units : {1, 5, 17, 64}) cases.push_back({batch, features, units});
    }
    cases.push_back({batch, 2304, 10});
    cases.push_back({batch, 100, 512});
  }
  cases.push_back({130, 70, 20});    // several blocks of samples
  cases.push_back({16, 150, 2500});  // a row of the weights is large
  cases.push_back({2, 600, 33});
  return cases;
}

std::string case_name(const testing::TestParamInfo<DenseGeometry>& info) {
  return concat("n", info.param.batch, "k", info.param.features, "m", info.param.units);
}

INSTANTIATE_TEST_SUITE_P(Shapes, DirectDenseCases, testing::ValuesIn(dense_cases()), case_name);

TEST(DirectDense, NamesInstructionSetAndTile) {
  const SetIsa set("sse2");
  EXPECT_EQ(DirectDense({.batch = 4, .features = 3, .units = 2}).name(), "direct:sse2 5x2");
}

TEST(DirectDense, SaysWhyItRefuses) {
  std::string why;
  EXPECT_FALSE(DirectDense::supports({.batch = 1, .features = 0, .units = 2}, &why));
  EXPECT_NE(why.find("features 0"), std::string::npos) << why;
  const DenseGeometry large{.batch = 1 << 20, .features = 1 << 12, .units = 1};
  EXPECT_FALSE(DirectDense::supports(large, &why));
  EXPECT_NE(why.find("2^31"), std::string::npos) << why;
  EXPECT_THROW(DirectDense{large}, Unsupported);
  EXPECT_TRUE(DirectDense::supports({.batch = 1, .features = 1, .units = 1}, &why));
  EXPECT_EQ(why, "");
}

}  // namespace
}  // namespace pando::kernels
