// Verifying record files.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/data/tfrecord/example.h"
#include "pando/datasets/tools/verify.h"
#include "tests/data/record_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

Bytes numbered_example(int64_t number) {
  return ExampleBuilder().ints("number", {number}).text("name", "x").encode();
}

TEST(VerifyTfrecord, GoesOnBehindABadPayload) {
  const TempFolder folder;
  Bytes content = records({numbered_example(1), numbered_example(2), bytes_of("\xff\xff"),
                           numbered_example(4), numbered_example(5)});
  const size_t one = record(numbered_example(1)).size();
  content[12] ^= 1;  // the payload of record 0
  folder.write("a.tfrecord", content);
  const VerifyReport report = verify_dataset("tfrecord", folder.path());
  ASSERT_EQ(report.bad.size(), 2u);
  EXPECT_EQ(report.bad[0].offset, 0u);
  EXPECT_SAYS(report.bad[0].why, "crc");
  EXPECT_EQ(report.bad[1].offset, 2 * one);
  EXPECT_SAYS(report.bad[1].why, "record at byte " + std::to_string(2 * one));
  EXPECT_EQ(report.samples(), 3);
  EXPECT_EQ(report.notes, (std::vector<std::string>{"feature 'name' bytes_list in 3 records",
                                                    "feature 'number' int64_list in 3 records"}));
}

TEST(VerifyTfrecord, SaysWhenTheRestIsLost) {
  const TempFolder folder;
  Bytes content = records({numbered_example(1), numbered_example(2), numbered_example(3)});
  content[record(numbered_example(1)).size()] ^= 1;  // the length of record 1
  const std::string path = folder.write("a.tfrecord", content);
  Bytes cut = records({numbered_example(1)});
  cut.pop_back();
  folder.write("b.tfrecord", cut);
  folder.write("c.tfrecord", records({numbered_example(7)}));
  folder.write("d.tfrecord", {});
  const VerifyReport report = verify_dataset("tfrecord", folder.path(), {.workers = 3});
  ASSERT_EQ(report.bad.size(), 3u);
  EXPECT_SAYS(report.bad[0].why, "cannot be found");
  EXPECT_EQ(report.bad[0].file, path);
  EXPECT_SAYS(report.bad[1].why, "truncated at byte");
  EXPECT_SAYS(report.bad[2].why, "empty");
  EXPECT_EQ(report.samples(), 2);
}

TEST(VerifyTfrecord, MissingShards) {
  const TempFolder folder;
  folder.write("train-00000-of-00003", records({numbered_example(1)}));
  folder.write("train-00002-of-00003", gzip(records({numbered_example(3)})));
  const VerifyReport report = verify_dataset("tfrecord", folder.path());
  ASSERT_EQ(report.bad.size(), 1u);
  EXPECT_EQ(report.bad[0].file, folder.path("train-00001-of-00003"));
  EXPECT_SAYS(report.bad[0].why, "missing");
  EXPECT_EQ(report.samples(), 2);
}

}  // namespace
}  // namespace pando
