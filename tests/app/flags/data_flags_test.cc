#include "pando/app/flags/data_flags.h"

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "pando/options/command_line.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using testing_support::error_of;

DataFlags parse(const std::vector<std::string>& args) {
  DataFlags flags;
  CommonOptions common;
  OptionTable table;
  add_data_flags(table, flags);
  parse_command_line(table, common, args);
  validate(flags);
  return flags;
}

std::string error(const std::vector<std::string>& args) {
  return error_of<UsageError>([&] { parse(args); });
}

TEST(DataFlags, HaveDefaults) {
  const DataFlags flags = parse({});
  EXPECT_TRUE(flags.download);
  EXPECT_TRUE(flags.shuffle);
  EXPECT_EQ(flags.synthetic_data, SyntheticData::none);
  EXPECT_EQ(flags.on_bad_record, OnBadRecord::error);
  EXPECT_EQ(flags.pipeline_num_parallel, 0);
  EXPECT_FALSE(flags.accelerator_side_preprocess || flags.eight_bit_transfer ||
               flags.fused_preprocessing);
}

TEST(DataFlags, OldWordsStayAliases) {
  EXPECT_EQ(parse({"--synthetic-data", "host"}).synthetic_data, SyntheticData::host);
  EXPECT_EQ(parse({"--synthetic-data", "cpu"}).synthetic_data, SyntheticData::host);
  EXPECT_EQ(parse({"--synthetic-data", "device"}).synthetic_data, SyntheticData::device);
  EXPECT_EQ(parse({"--synthetic-data", "ipu"}).synthetic_data, SyntheticData::device);
  EXPECT_SAYS(error({"--synthetic-data", "gpu"}), "--synthetic-data");
}

TEST(DataFlags, TakeWhatUsersTry) {
  EXPECT_FALSE(parse({"--no-download"}).download);
  EXPECT_FALSE(parse({"--no-shuffle"}).shuffle);
  EXPECT_EQ(parse({"--on-bad-record=skip"}).on_bad_record, OnBadRecord::skip);
  EXPECT_EQ(parse({"--pipeline-num-parallel", "48"}).pipeline_num_parallel, 48);
  EXPECT_EQ(parse({"--dataset", "imagenet", "--image-size", "64"}).image_size, 64);
}

TEST(DataFlags, AreChecked) {
  EXPECT_SAYS(error({"--dataset", "imagnet"}), "--dataset");
  EXPECT_SAYS(error({"--dataset-path", "/no/such/folder"}), "'/no/such/folder' does not exist");
  EXPECT_SAYS(error({"--pipeline-num-parallel", "-1"}), "--pipeline-num-parallel");
  EXPECT_SAYS(error({"--image-size", "64"}), "goes with imagenet and image_folder");
  EXPECT_SAYS(error({"--on-bad-record", "ignore"}), "known: error, skip");
}

TEST(DataFlags, DevicesNeedToBeAskedToPrepare) {
  EXPECT_SAYS(error({"--eight-bit-transfer"}), "needs --accelerator-side-preprocess");
  EXPECT_SAYS(error({"--fused-preprocessing"}), "needs --accelerator-side-preprocess");
  const DataFlags flags = parse(
      {"--accelerator-side-preprocess", "--eight-bit-transfer", "--fused-preprocessing", "true"});
  EXPECT_TRUE(flags.accelerator_side_preprocess && flags.eight_bit_transfer &&
              flags.fused_preprocessing);
}

}  // namespace
}  // namespace pando::app
