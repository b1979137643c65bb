#include "pando/app/flags/data_flags.h"

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "pando/options/command_line.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using testing_support::error_of;

DataFlags data_flags(const std::vector<std::string>& args) {
  DataFlags flags;
  CommonOptions common;
  OptionTable table;
  add_data_flags(table, flags);
  parse_command_line(table, common, args);
  validate(flags);
  return flags;
}

std::string data_flags_error(const std::vector<std::string>& args) {
  return error_of<UsageError>([&] { data_flags(args); });
}

TEST(DataFlags, HaveDefaults) {
  const DataFlags flags = data_flags({});
  EXPECT_TRUE(flags.download);
  EXPECT_TRUE(flags.shuffle);
  EXPECT_EQ(flags.synthetic_data, SyntheticData::none);
  EXPECT_EQ(flags.on_bad_record, OnBadRecord::error);
  EXPECT_EQ(flags.pipeline_num_parallel, 0);
  EXPECT_FALSE(flags.accelerator_side_preprocess || flags.eight_bit_transfer ||
               flags.fused_preprocessing);
}

TEST(DataFlags, OldWordsStayAliases) {
  EXPECT_EQ(data_flags({"--synthetic-data", "host"}).synthetic_data, SyntheticData::host);
  EXPECT_EQ(data_flags({"--synthetic-data", "cpu"}).synthetic_data, SyntheticData::host);
  EXPECT_EQ(data_flags({"--synthetic-data", "device"}).synthetic_data, SyntheticData::device);
  EXPECT_EQ(data_flags({"--synthetic-data", "ipu"}).synthetic_data, SyntheticData::device);
  EXPECT_SAYS(data_flags_error({"--synthetic-data", "gpu"}), "--synthetic-data");
}

TEST(DataFlags, TakeWhatUsersTry) {
  EXPECT_FALSE(data_flags({"--no-download"}).download);
  EXPECT_FALSE(data_flags({"--no-shuffle"}).shuffle);
  EXPECT_EQ(data_flags({"--on-bad-record=skip"}).on_bad_record, OnBadRecord::skip);
  EXPECT_EQ(data_flags({"--pipeline-num-parallel", "48"}).pipeline_num_parallel, 48);
  EXPECT_EQ(data_flags({"--dataset", "imagenet", "--image-size", "64"}).image_size, 64);
}

TEST(DataFlags, AreChecked) {
  EXPECT_SAYS(data_flags_error({"--dataset", "imagnet"}), "--dataset");
  EXPECT_SAYS(data_flags_error({"--dataset-path", "/no/such/folder"}), "--dataset-path",
              "'/no/such/folder'");
  EXPECT_SAYS(data_flags_error({"--pipeline-num-parallel", "-1"}), "--pipeline-num-parallel");
  EXPECT_SAYS(data_flags_error({"--image-size", "64"}), "--image-size", "imagenet or image_folder");
  EXPECT_SAYS(data_flags_error({"--on-bad-record", "ignore"}), "known: error, skip");
}

TEST(DataFlags, DevicesNeedToBeAskedToPrepare) {
  EXPECT_SAYS(data_flags_error({"--eight-bit-transfer"}), "needs --accelerator-side-preprocess");
  EXPECT_SAYS(data_flags_error({"--fused-preprocessing"}), "needs --accelerator-side-preprocess");
  const DataFlags flags = data_flags(
      {"--accelerator-side-preprocess", "--eight-bit-transfer", "--fused-preprocessing", "true"});
  EXPECT_TRUE(flags.accelerator_side_preprocess && flags.eight_bit_transfer &&
              flags.fused_preprocessing);
}

}  // namespace
}  // namespace pando::app
