// SPDX-License-Identifier: MIT
#include "pando/tensor/precision.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

TEST(Precision, NamesRoundTrip) {
  EXPECT_EQ(precision_names().size(), 5u);
  for (const std::string& name : precision_names()) {
    EXPECT_EQ(to_string(parse_precision(name)), name);
  }
}

TEST(Precision, NamesSayWhatComputesAndThenWhatIsUpdated) {
  EXPECT_EQ(parse_precision("32.32"), Precision{});
  EXPECT_EQ(parse_precision("16.32"), (Precision{DType::f16, DType::f32}));
  EXPECT_EQ(parse_precision("16.16"), (Precision{DType::f16, DType::f16}));
  EXPECT_EQ(parse_precision("bf16.32"), (Precision{DType::bf16, DType::f32}));
  EXPECT_EQ(parse_precision("bf16.16"), (Precision{DType::bf16, DType::bf16}));
}

TEST(Precision, IsHalfWhenItComputesInHalf) {
  EXPECT_FALSE(parse_precision("32.32").half());
  EXPECT_TRUE(parse_precision("16.32").half());
  EXPECT_TRUE(parse_precision("bf16.16").half());
}

TEST(Precision, ThatHasNoNameIsWrittenByItsTypes) {
  EXPECT_EQ(to_string(Precision{DType::f32, DType::f16}), "f32.f16");
}

TEST(Precision, UnknownNamesAreAnsweredWithTheKnownOnes) {
  const std::string message =
      testing_support::error_of<InvalidArgument>([] { (void)parse_precision("32.16"); });
  EXPECT_SAYS(message, "precision '32.16'");
  for (const std::string& name : precision_names()) EXPECT_SAYS(message, name);
}

}  // namespace
}  // namespace pando
