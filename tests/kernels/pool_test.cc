// Compares the fast pooling kernels with the reference.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/kernel_case.h"

namespace pando::test {
namespace {

struct PoolCase {
  Shape x;
  ir::Ints window;
  ir::Ints strides = {};
  std::string padding = "valid";
  ir::Ints pads = {};
  bool ceil = false;
};

const std::vector<PoolCase>& pool_cases() {
  static const std::vector<PoolCase> cases = {
      {{1, 2, 2, 1}, {2, 2}},
      {{2, 7, 9, 3}, {2, 2}},
      {{2, 8, 6, 16}, {2, 2}},
      {{1, 5, 5, 17}, {2, 2}, {}, "same"},
      {{2, 6, 7, 5}, {3, 3}, {2, 2}, "same"},
      {{1, 5, 4, 32}, {5, 4}},
      {{2, 9, 9, 8}, {2, 3}, {4, 5}},
      {{2, 6, 6, 4}, {3, 2}, {1, 1}},
      {{1, 7, 6, 11}, {3, 3}, {2, 1}, "explicit", {1, 0, 2, 1}},
      {{2, 4, 6, 4, 16}, {2, 2, 2}},
      {{1, 5, 3, 7, 3}, {2, 2, 2}, {}, "same"},
      {{2, 4, 4, 5, 9}, {3, 1, 2}, {1, 2, 2}},
      {{2, 7, 9, 3}, {2, 2}, {}, "valid", {}, true},
      {{1, 7, 8, 17}, {3, 3}, {2, 2}, "valid", {}, true},
      {{1, 6, 7, 16}, {3, 3}, {2, 2}, "explicit", {1, 0, 1, 1}, true},
      {{1, 5, 3, 7, 9}, {2, 2, 2}, {}, "valid", {}, true},
      {{1, 33, 32, 9}, {16, 16}},  // as many positions as an index can hold
  };
  return cases;
}

ir::Attributes attributes_of(const PoolCase& pool) {
  ir::Attributes attributes{{"window", pool.window}, {"padding", pool.padding}};
  if (!pool.strides.empty()) attributes.set("strides", pool.strides);
  if (!pool.pads.empty()) attributes.set("pads", pool.pads);
  attributes.set("ceil_mode", int64_t{pool.ceil});
  return attributes;
}

ir::Attributes gradient_attributes_of(const PoolCase& pool) {
  ir::Attributes attributes = attributes_of(pool);
  attributes.set("input", ir::Ints(pool.x.begin() + 1, pool.x.end() - 1));
  return attributes;
}

KernelCase max_pool(const PoolCase& pool) {
  return {
      .op = "max_pool", .inputs = {f32(pool.x)}, .attributes = attributes_of(pool), .outputs = 2};
}

TEST(FastPool, MaxPoolAgrees) {
  for (const PoolCase& pool : pool_cases()) {
    EXPECT_EQ(BoundCase(max_pool(pool)).expect_agreement({.tolerance = 0}), 1);
  }
}

TEST(FastPool, TheFirstMaximumAndTheFirstNanWin) {
  for (const PoolCase& pool : pool_cases()) {
    BoundCase ties(max_pool(pool));
    ties.map_input(0, [](float x) { return std::round(x); });
    ties.expect_agreement({.tolerance = 0});
    ties.map_input(0, [](float x) { return x > 0.5f ? std::nanf("") : x; });
    ties.expect_agreement({.tolerance = 0});
  }
}

TEST(FastPool, MaxPoolGradAgrees) {
  for (const PoolCase& pool : pool_cases()) {
    const BoundCase forward(max_pool(pool));
    const auto pooled = forward.run(forward.offer("reference"), forward.step({}));
    const Shape& y = forward.node().output()->shape();
    for (const char* activation : {"none", "relu", "leaky_relu"}) {
      ir::Attributes attributes = gradient_attributes_of(pool);
      attributes.set("activation", std::string(activation));
      attributes.set("alpha", 0.25);
      const bool masked = std::string(activation) != "none";
      std::vector<ir::TensorType> inputs = {f32(y), {DType::u8, y}};
      if (masked) inputs.push_back(f32(y));
      BoundCase bound({.op = "max_pool_grad", .inputs = inputs, .attributes = attributes});
      bound.input(1) = pooled[1];
      EXPECT_EQ(bound.expect_agreement({.tolerance = 1e-6}), 1);
    }
  }
}

TEST(FastPool, AvgPoolAgrees) {
  for (const PoolCase& pool : pool_cases()) {
    const BoundCase bound(
        {.op = "avg_pool", .inputs = {f32(pool.x)}, .attributes = attributes_of(pool)});
    EXPECT_EQ(bound.expect_agreement({.tolerance = 1e-6}), 1);
    const BoundCase gradient({.op = "avg_pool_grad",
                              .inputs = {bound.node().output()->type()},
                              .attributes = gradient_attributes_of(pool)});
    EXPECT_EQ(gradient.expect_agreement({.tolerance = 1e-6}), 1);
  }
}

TEST(FastPool, GlobalMaxPoolAgrees) {
  for (const PoolCase& pool : pool_cases()) {
    BoundCase bound({.op = "global_max_pool", .inputs = {f32(pool.x)}, .outputs = 2});
    EXPECT_EQ(bound.expect_agreement({.tolerance = 0}), 1);
    const auto pooled = bound.run(bound.offer("reference"), bound.step({}));
    const Shape y = bound.node().output()->shape();
    const ir::Ints spatial(pool.x.begin() + 1, pool.x.end() - 1);
    BoundCase gradient({.op = "global_max_pool_grad",
                        .inputs = {f32(y), {DType::i32, y}},
                        .attributes = {{"input", spatial}}});
    gradient.input(1) = pooled[1];
    EXPECT_EQ(gradient.expect_agreement({.tolerance = 0}), 1);
    bound.map_input(0, [](float x) { return std::round(x); });
    bound.expect_agreement({.tolerance = 0});
    bound.map_input(0, [](float x) { return x > 0.5f ? std::nanf("") : x; });
    bound.expect_agreement({.tolerance = 0});
  }
}

TEST(FastPool, GlobalAvgPoolAgrees) {
  for (const PoolCase& pool : pool_cases()) {
    const BoundCase bound({.op = "global_avg_pool", .inputs = {f32(pool.x)}});
    EXPECT_EQ(bound.expect_agreement({.tolerance = 1e-6}), 1);
    const ir::Ints spatial(pool.x.begin() + 1, pool.x.end() - 1);
    const BoundCase gradient({.op = "global_avg_pool_grad",
                              .inputs = {f32({pool.x.front(), pool.x.back()})},
                              .attributes = {{"input", spatial}}});
    EXPECT_EQ(gradient.expect_agreement({.tolerance = 1e-6}), 1);
  }
}

}  // namespace
}  // namespace pando::test
