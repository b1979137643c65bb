// Ops on constants: whole numbers stay exact, and what has no result is refused.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>

#include "pando/base/error.h"
#include "pando/onnx/constant.h"
#include "tests/onnx/made_models.h"
#include "tests/support/expect_error.h"

namespace pando::onnx {
namespace {

using testing_support::error_of;
using Wholes = std::vector<int64_t>;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Constant folded_of(const std::string& op, const std::vector<Constant>& operands,
                   std::vector<AttributeProto> attributes = {}) {
  std::vector<const Constant*> pointers;
  pointers.reserve(operands.size());
  for (const Constant& operand : operands) pointers.push_back(&operand);
  return fold(node_of(op, {}, "y", std::move(attributes)), pointers, 13)->at(0);
}

Constant ints(Wholes values) { return Constant::of_ints(std::move(values)); }
Constant one_real(float value) {
  return {.dims = {1}, .is_real = true, .reals = {value}, .ints = {}};
}

TEST(OnnxFold, WholeNumbersStayExact) {
  constexpr int64_t kOdd = (int64_t{1} << 53) + 1;
  EXPECT_EQ(folded_of("Neg", {ints({kOdd, kMost})}).ints, (Wholes{-kOdd, -kMost}));
  EXPECT_EQ(folded_of("Abs", {ints({-kOdd, kOdd})}).ints, (Wholes{kOdd, kOdd}));
  EXPECT_EQ(folded_of("Floor", {ints({kOdd})}).ints, (Wholes{kOdd}));
  EXPECT_EQ(folded_of("Ceil", {ints({kOdd})}).ints, (Wholes{kOdd}));
  EXPECT_EQ(folded_of("Range", {ints({kOdd}), ints({kOdd + 3}), ints({2})}).ints,
            (Wholes{kOdd, kOdd + 2}));
  EXPECT_EQ(folded_of("Range", {ints({3}), ints({-2}), ints({-2})}).ints, (Wholes{3, 1, -1}));
  EXPECT_TRUE(folded_of("Range", {ints({3}), ints({3}), ints({1})}).ints.empty());
  EXPECT_TRUE(folded_of("Range", {ints({3}), ints({1}), ints({1})}).ints.empty());
  EXPECT_TRUE(folded_of("Range", {one_real(0), one_real(1), one_real(-1e-40f)}).reals.empty());
}

TEST(OnnxFold, RefusesWholeNumbersOutOfRange) {
  for (const char* op : {"Neg", "Abs"}) {
    EXPECT_SAYS(error_of([&] { folded_of(op, {ints({kLeast})}); }), op, "64 bits");
  }
  EXPECT_SAYS(error_of([&] { folded_of("Exp", {ints({100})}); }), "Exp", "64 bits");
  EXPECT_SAYS(error_of([&] { folded_of("Log", {ints({0})}); }), "Log", "64 bits");
  EXPECT_SAYS(error_of([&] { folded_of("Sqrt", {ints({-1})}); }), "Sqrt", "64 bits");
  EXPECT_SAYS(error_of([&] { folded_of("Reciprocal", {ints({0})}); }), "Reciprocal", "64 bits");
  EXPECT_SAYS(error_of([&] {
                folded_of("Range", {ints({kLeast}), ints({kMost}), ints({kMost})});
              }),
              "Range", "no end");
  EXPECT_SAYS(error_of([&] {
                folded_of("Range", {ints({0}), ints({kLeast}), ints({-1})});
              }),
              "Range", "no end");
  EXPECT_SAYS(error_of([&] {
                folded_of("Range", {ints({0}), ints({2}), ints({0})});
              }),
              "Range", "no end");
  EXPECT_SAYS(error_of([&] {
                folded_of("Range", {one_real(0), one_real(2), one_real(0)});
              }),
              "Range", "no end");
  EXPECT_SAYS(error_of([&] {
                folded_of("Range", {ints({0}), ints({2}), one_real(0.5f)});
              }),
              "operand 2", "one number");
  EXPECT_SAYS(error_of([&] {
                folded_of("Range", {ints({}), ints({2}), ints({1})});
              }),
              "operand 0", "one number");
}

TEST(OnnxFold, SlicesOfAnyStep) {
  const auto sliced = [](int64_t start, int64_t end, int64_t step) {
    return folded_of("Slice",
                     {ints({5, 6, 7}), ints({start}), ints({end}), ints({0}), ints({step})})
        .ints;
  };
  EXPECT_EQ(sliced(0, 3, 2), (Wholes{5, 7}));
  EXPECT_EQ(sliced(0, 3, kMost), (Wholes{5}));
  EXPECT_EQ(sliced(-1, kLeast, kLeast), (Wholes{7}));
  EXPECT_EQ(sliced(-1, kLeast, -2), (Wholes{7, 5}));
  EXPECT_EQ(sliced(kMost, kLeast, -1), (Wholes{7, 6, 5}));
  EXPECT_TRUE(sliced(2, 1, 1).empty());
  EXPECT_TRUE(folded_of("Slice", {ints({}), ints({0}), ints({kLeast}), ints({0}), ints({-1})})
                  .ints.empty());
}

TEST(OnnxFold, RefusesOperandsThatDoNotFit) {
  const Constant x = ints({5, 6, 7}), holds = ints({1, 0, 1});
  EXPECT_SAYS(error_of([&] { folded_of("Where", {holds, x, one_real(1)}); }), "Where", "one type");
  EXPECT_SAYS(error_of([&] { folded_of("Where", {holds, one_real(1), x}); }), "Where", "one type");
  EXPECT_SAYS(error_of([&] {
                folded_of("Slice", {x, ints({0}), ints({})});
              }),
              "Slice", "as many ends");
  EXPECT_SAYS(error_of([&] {
                folded_of("Slice", {x, ints({0, 1}), ints({1, 2}), ints({0})});
              }),
              "Slice", "as many ends");
  EXPECT_SAYS(error_of([&] {
                folded_of("Slice", {x, ints({0}), ints({1}), ints({0}), ints({1, 1})});
              }),
              "Slice", "as many ends");
  EXPECT_SAYS(error_of([&] {
                folded_of("Slice", {x, ints({2, 2}), ints({3, 3}), ints({0, 0})});
              }),
              "Slice", "axes repeat");
  const AttributeProto nothing{.name = "value", .kind = AttributeKind::tensor, .t = wholes("", {})};
  EXPECT_SAYS(error_of([&] { folded_of("ConstantOfShape", {ints({2})}, {nothing}); }),
              "ConstantOfShape", "element 0 of a constant of 0");
}

}  // namespace
}  // namespace pando::onnx
