// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/nn/layers.h"
#include "pando/nn/network.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

// A residual block between a convolution and a classifier.
Network small_residual() {
  const SymbolicTensor input = Input({4, 4, 2});
  const SymbolicTensor stem = Conv2D({.filters = 3, .name = "stem"})(input);
  const SymbolicTensor inner = Conv2D({.filters = 3, .name = "inner"})(stem);
  const SymbolicTensor sum = Add({.name = "sum"})({stem, inner});
  return Network(input, Dense({.units = 5, .name = "last"})(Flatten({.name = "flat"})(sum)));
}

TEST(NetworkParts, BottlenecksAreOnAllPaths) {
  EXPECT_EQ(small_residual().bottlenecks(), (std::vector<std::string>{"stem", "sum", "flat"}));
}

TEST(NetworkParts, LayersCalledTwiceAndOtherOutputsAreNoBottlenecks) {
  const SymbolicTensor input = Input({4});
  const Layer shared = Dense({.units = 4, .name = "shared"});
  const SymbolicTensor first = Dense({.units = 4, .name = "first"})(shared(shared(input)));
  EXPECT_EQ(Network(input, Dense({.units = 2})(first)).bottlenecks(),
            (std::vector<std::string>{"first"}));
  const SymbolicTensor behind = Dense({.units = 3, .name = "behind"})(first);
  EXPECT_TRUE(Network({input}, {first, behind}).bottlenecks().empty());
}

TEST(NetworkParts, FromHasTheLayersBehind) {
  const Network whole = small_residual();
  const Network rest = whole.from("sum");
  ASSERT_EQ(rest.inputs().size(), 1U);
  EXPECT_EQ(rest.inputs()[0].name, "sum");
  EXPECT_EQ(rest.inputs()[0].shape, (Shape{4, 4, 3}));
  EXPECT_EQ(rest.outputs()[0].name, "last");
  EXPECT_EQ(rest.parameters(), whole.layer("last").parameters());
  EXPECT_EQ(rest.parameters() + whole.until("sum").parameters(), whole.parameters());
}

TEST(NetworkParts, FromRefusesOtherLayers) {
  const Network whole = small_residual();
  EXPECT_SAYS(error_of([&] { whole.from("inner"); }), "every path", "'inner'", "stem, sum, flat");
  EXPECT_SAYS(error_of([&] { whole.from("last"); }), "'last'");
  EXPECT_SAYS(error_of([&] { whole.from("nothing"); }), "nothing", "stem");
}

}  // namespace
}  // namespace pando
