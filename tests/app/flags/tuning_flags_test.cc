// SPDX-License-Identifier: MIT
#include "pando/app/flags/tuning_flags.h"

#include "pando/app/flags/deciding_options.h"
#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

class TuningFlagsTest : public testing::Test {
 protected:
  TuningFlagsTest() { folder_.write("w.h5", "x"); }
  // Arguments of a run that starts with weights.
  std::vector<std::string> tuned(std::vector<std::string> more) const {
    more.insert(more.end(), {"--weights", (folder_.path / "w.h5").string()});
    return more;
  }
  TestFolder folder_;
};

TEST_F(TuningFlagsTest, AreReadAndRecorded) {
  const TrainOptions options = parse(tuned(
      {"--classes", "7", "--freeze", "until:conv2d", "--unfreeze-after", "2",
       "--head-learning-rate", "0.5", "--feature-cache", "2G", "--by-name", "--skip-mismatch"}));
  EXPECT_TRUE(options.tuning.replaces_head());
  EXPECT_EQ(options.tuning.classes_for(5), 7);
  EXPECT_EQ(options.tuning.last_frozen(), "conv2d");
  EXPECT_EQ(options.tuning.unfreeze_after, 2);
  EXPECT_TRUE(options.checkpoints.by_name && options.checkpoints.skip_mismatch);
  const ConfigValue recorded = deciding_options(options);
  for (const char* name :
       {"classes", "freeze", "unfreeze-after", "head-learning-rate", "dataset-classes"}) {
    EXPECT_NE(recorded.find(name), nullptr) << name;
  }
  EXPECT_EQ(recorded.find("feature-cache"), nullptr);
}

TEST_F(TuningFlagsTest, AreOffByDefault) {
  const TrainOptions options = parse({});
  EXPECT_FALSE(options.tuning.replaces_head());
  EXPECT_FALSE(options.tuning.freezes());
  EXPECT_EQ(options.tuning.last_frozen(), "");
  EXPECT_EQ(options.tuning.classes_for(5), 5);
  EXPECT_EQ(parse(tuned({"--classes", "auto"})).tuning.classes_for(5), 5);
}

TEST_F(TuningFlagsTest, WrongValuesAreRefused) {
  EXPECT_SAYS(error(tuned({"--classes", "some"})), "--classes", "auto", "'some'");
  EXPECT_SAYS(error(tuned({"--classes", "0"})), "--classes", "'0'");
  EXPECT_SAYS(error(tuned({"--freeze", "conv2d"})), "--freeze", "until:", "'conv2d'");
  EXPECT_SAYS(error(tuned({"--freeze", "until:"})), "--freeze");
  EXPECT_SAYS(error({"--freeze", "all"}), "--freeze all", "--model FILE", "--weights FILE");
  EXPECT_SAYS(error(tuned({"--unfreeze-after", "1"})), "--unfreeze-after 1", "--freeze all");
  EXPECT_SAYS(error(tuned({"--feature-cache", "much"})), "--feature-cache", "off", "'much'");
  EXPECT_SAYS(error(tuned({"--head-learning-rate", "0"})), "--head-learning-rate");
  EXPECT_SAYS(error({"--preprocessing", "scale"}), "--preprocessing", "--model FILE");
  EXPECT_SAYS(error({"--by-name"}), "--by-name", "--weights");
  EXPECT_SAYS(error(tuned({"--skip-mismatch"})), "--skip-mismatch", "--by-name");
  const TrainOptions few = parse(tuned({"--classes", "3"}));
  EXPECT_SAYS(testing_support::error_of<UsageError>([&] { few.tuning.classes_for(4); }),
              "--classes 3", "4 classes", "auto");
}

TEST(TuningFlags, AResumedRunHasTrainedWeights) {
  EXPECT_SAYS(error({"--freeze", "all"}), "--freeze all", "trained weights");
  EXPECT_EQ(parse({"--freeze", "all", "--resume", "."}).tuning.freeze, "all");
  EXPECT_SAYS(error({"--freeze", "all", "--resume", "auto", "--run-dir", "run"}), "--freeze all");
}

}  // namespace
}  // namespace pando::app
