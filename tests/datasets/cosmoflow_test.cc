// Verifying CosmoFlow.
// SPDX-License-Identifier: MIT
#include "pando/data/sources/cosmoflow.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "pando/datasets/tools/verify.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

using testing_support::TempFolder;

TEST(VerifyCosmoflow, ListsEveryBadVolume) {
  const TempFolder folder;
  make_cosmoflow(folder.path(), {.train = 4, .validation = 2, .shape = {4, 4, 4, 4}});
  VerifyReport report = verify_dataset("cosmoflow", folder.path(), {.workers = 2});
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.samples(), 6);
  EXPECT_EQ(report.notes.at(0), "train: volumes [4,4,4,4]");
  EXPECT_SAYS(report.notes.at(1), "train: targets from ");

  const std::vector<float> targets(4, 0.5f);
  std::vector<int16_t> counts(4 * 4 * 4 * 4, 1);
  counts[7] = -1;
  write_cosmoflow_sample(folder.path("train/x1.tfrecord"), {counts, targets});
  write_cosmoflow_sample(folder.path("train/x2.tfrecord"), {std::vector<int16_t>(32), targets});
  folder.write("train/x3.tfrecord", {});
  std::filesystem::create_symlink("nowhere", folder.path("train/x4.tfrecord"));
  report = verify_dataset("cosmoflow", folder.path(), {.workers = 2});
  ASSERT_EQ(report.bad.size(), 4u);
  EXPECT_SAYS(report.bad[0].why, "count 7");
  EXPECT_SAYS(report.bad[1].why, "64 bytes", "512");
  EXPECT_SAYS(report.bad[2].why, "empty");
  EXPECT_SAYS(report.bad[3].why, "cannot open");
  EXPECT_EQ(report.bad[3].file, folder.path("train/x4.tfrecord"));
  EXPECT_EQ(report.samples(), 6);
}

}  // namespace
}  // namespace pando
