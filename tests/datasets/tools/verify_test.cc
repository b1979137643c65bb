// What verifying any data set does.
// SPDX-License-Identifier: MIT
#include "pando/datasets/tools/verify.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

TEST(VerifyDataset, RefusesWhatMakesNoSense) {
  EXPECT_SAYS(error_of([] { verify_dataset("minst", "x"); }), "'mnist'");
  EXPECT_SAYS(error_of([] { verify_dataset("mnist", "x", {.workers = 0}); }), "verify", "0 workers",
              "at least 1");
}

TEST(VerifyDataset, NothingThere) {
  const TempFolder folder;
  for (const char* format : {"image_folder", "cosmoflow", "tfrecord"}) {
    EXPECT_EQ(verify_dataset(format, folder.path()).bad_count, 1) << format;
  }
  for (const char* format : {"mnist", "cifar10", "image_folder", "cosmoflow", "tfrecord"}) {
    const VerifyReport report = verify_dataset(format, folder.path("none"));
    EXPECT_EQ(report.bad_count, 1) << format;
    EXPECT_EQ(report.bad.at(0).why, "no such file or folder");
  }
  EXPECT_SAYS(verify_dataset("image_folder", folder.path()).bad.at(0).why, "has no folders");
  EXPECT_SAYS(verify_dataset("cosmoflow", folder.path()).bad.at(0).why, "*.tfrecord");
  EXPECT_SAYS(verify_dataset("tfrecord", folder.path()).bad.at(0).why, "at least one sample");
}

}  // namespace
}  // namespace pando
