// The table of data sets.
// SPDX-License-Identifier: MIT
#include "pando/data/tools/formats.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

TEST(DataFormats, HaveDifferentNamesAndAllTools) {
  std::set<std::string> names;
  for (const DataFormat& format : data_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_NE(format.verify, nullptr) << format.name;
    EXPECT_NE(format.pipeline, nullptr) << format.name;
    EXPECT_NE(format.show, nullptr) << format.name;
    EXPECT_FALSE(format.files.empty()) << format.name;
    EXPECT_EQ(&find_data_format(format.name), &format);
  }
  EXPECT_EQ(data_format_names().size(), names.size());
}

TEST(DataFormats, OfferTheNearestName) {
  const std::string message = error_of([] { find_data_format("cifar1o"); });
  EXPECT_SAYS(message, "'cifar1o'", "'cifar10'");
}

TEST(VerifyDataset, RefusesWhatMakesNoSense) {
  EXPECT_SAYS(error_of([] { verify_dataset("minst", "x"); }), "'mnist'");
  EXPECT_SAYS(error_of([] { verify_dataset("mnist", "x", {.workers = 0}); }), "verify", "0 workers",
              "at least 1");
}

}  // namespace
}  // namespace pando
