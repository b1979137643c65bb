// Compares the fast kernels of pad, slice and concat with the reference.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "tests/support/kernel_case.h"

namespace pando::test {
namespace {

TEST(FastBoxes, PadAgrees) {
  struct PadCase {
    Shape x;
    ir::Ints low;
    ir::Ints high;
  };
  for (const PadCase& pad :
       {PadCase{{3, 4, 5, 2}, {0, 1, 2, 0}, {0, 2, 0, 0}},
        PadCase{{2, 3, 3, 16}, {0, 0, 0, 8}, {0, 0, 0, 8}},
        PadCase{{1, 2, 3, 2, 3}, {0, 1, 0, 1, 2}, {0, 0, 1, 1, 0}}, PadCase{{4, 7}, {0, 0}, {0, 3}},
        PadCase{{2, 3, 4, 5}, {0, 0, 0, 0}, {0, 0, 0, 0}}}) {
    const BoundCase bound({.op = "pad",
                           .inputs = {f32(pad.x)},
                           .attributes = {{"low", pad.low}, {"high", pad.high}}});
    EXPECT_EQ(bound.expect_agreement({.tolerance = 0}), 1);
  }
}

TEST(FastBoxes, SliceAndItsGradientAgree) {
  struct SliceCase {
    Shape x;
    ir::Ints begin;
    ir::Ints size;
    ir::Ints strides;
  };
  for (const SliceCase& slice :
       {SliceCase{{2, 8, 8, 3}, {0, 0, 0, 0}, {2, 4, 4, 3}, {1, 2, 2, 1}},
        SliceCase{{3, 5, 7, 16}, {0, 1, 2, 4}, {3, 3, 4, 8}, {}},
        SliceCase{{1, 6, 5, 9}, {0, 2, 0, 1}, {1, 2, 5, 3}, {1, 3, 1, 3}},
        SliceCase{{2, 3, 4, 5, 6}, {0, 1, 1, 0, 0}, {2, 2, 2, 5, 6}, {1, 1, 2, 1, 1}},
        SliceCase{{4, 9}, {0, 3}, {4, 5}, {}},
        SliceCase{{2, 3, 4, 5}, {0, 0, 0, 0}, {2, 3, 4, 5}, {}}}) {
    const BoundCase bound(
        {.op = "slice",
         .inputs = {f32(slice.x)},
         .attributes = {{"begin", slice.begin}, {"size", slice.size}, {"strides", slice.strides}}});
    EXPECT_EQ(bound.expect_agreement({.tolerance = 0}), 1);
    const BoundCase gradient(
        {.op = "slice_grad",
         .inputs = {f32(Shape(slice.size))},
         .attributes = {
             {"begin", slice.begin}, {"strides", slice.strides}, {"shape", slice.x.dims()}}});
    EXPECT_EQ(gradient.expect_agreement({.tolerance = 0}), 1);
  }
}

TEST(FastBoxes, ConcatAgrees) {
  EXPECT_EQ(BoundCase({.op = "concat",
                       .inputs = {f32({2, 3, 4, 5}), f32({2, 3, 4, 1}), f32({2, 3, 4, 16})},
                       .attributes = {{"axis", int64_t{3}}}})
                .expect_agreement({.tolerance = 0}),
            1);
  EXPECT_EQ(BoundCase({.op = "concat",
                       .inputs = {f32({3, 2, 4, 3}), f32({3, 5, 4, 3})},
                       .attributes = {{"axis", int64_t{1}}}})
                .expect_agreement({.tolerance = 0}),
            1);
}

}  // namespace
}  // namespace pando::test
