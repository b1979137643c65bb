#include "pando/runtime/tuning/tuning_file.h"

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/kept_environment.h"
#include "tests/support/temp_folder.h"

namespace pando::runtime {
namespace {

using testing_support::TempFolder;

const TuningMachine kMachine{"A processor", "avx2", "1.2", 4};

KeptDecisions two_decisions() {
  return {{"conv/1x2",
           {.decision = {.candidate = "direct",
                         .table = "winograd",
                         .times = {{"winograd", 2e-3, 1e-7}, {"direct", 1e-3, -1}}},
            .full = true}},
          {"dense/3x4", {.decision = {.candidate = "direct", .table = "direct", .times = {}}}}};
}

class TuningFileTest : public testing::Test {
 protected:
  TuningFile open(const TuningMachine& machine = kMachine) {
    return {folder_.path("cache/pando"), machine, tell_};
  }
  TuningFile::Tell tell_ = [this](const std::string& line) { told_.push_back(line); };
  TempFolder folder_;
  std::vector<std::string> told_;
};

TEST_F(TuningFileTest, KeepsDecisions) {
  EXPECT_TRUE(open().read().empty());
  open().write(two_decisions());
  const KeptDecisions read = open().read();
  ASSERT_EQ(read.size(), 2u);
  const KeptDecision& conv = read.at("conv/1x2");
  EXPECT_TRUE(conv.full);
  EXPECT_FALSE(read.at("dense/3x4").full);
  EXPECT_EQ(conv.decision.candidate, "direct");
  EXPECT_EQ(conv.decision.table, "winograd");
  ASSERT_EQ(conv.decision.times.size(), 2u);
  EXPECT_EQ(conv.decision.time_of("winograd")->seconds, 2e-3);
  EXPECT_EQ(conv.decision.time_of("winograd")->error, 1e-7);
  EXPECT_LT(conv.decision.time_of("direct")->error, 0);
  EXPECT_EQ(conv.decision.time_of("onednn"), nullptr);
  EXPECT_EQ(told_, std::vector<std::string>());
}

TEST_F(TuningFileTest, MachinesHaveFilesOfTheirOwn) {
  open().write(two_decisions());
  TuningMachine other = kMachine;
  other.threads = 5;
  EXPECT_TRUE(open(other).read().empty());
  EXPECT_NE(open(other).path(), open().path());
  EXPECT_EQ(told_, std::vector<std::string>());
}

TEST_F(TuningFileTest, AForeignFileIsIgnoredWithANotice) {
  TuningMachine other = kMachine;
  other.processor = "Another";
  open(other).write(two_decisions());
  std::filesystem::rename(open(other).path(), open().path());
  EXPECT_TRUE(open().read().empty());
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_SAYS(told_[0], "are ignored", "another processor");
}

TEST_F(TuningFileTest, ADamagedFileIsIgnoredWithANotice) {
  open().write(two_decisions());
  const std::string path = open().path();
  const std::string whole = folder_.read(std::filesystem::relative(path, folder_.path()).string());
  for (const std::string& text :
       {whole.substr(0, whole.size() / 2), std::string(), std::string("[]"), std::string("{}")}) {
    told_.clear();
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_TRUE(open().read().empty());
    ASSERT_EQ(told_.size(), 1u) << text;
    EXPECT_SAYS(told_[0], path, "are ignored");
  }
  open().write(two_decisions());  // replaces it
  EXPECT_EQ(open().read().size(), 2u);
}

TEST_F(TuningFileTest, AFolderThatCannotBeWrittenIsANotice) {
  folder_.write_text("file", "");
  const TuningFile file(folder_.path("file/below"), kMachine, tell_);
  EXPECT_TRUE(file.read().empty());
  file.write(two_decisions());
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_SAYS(told_[0], "not kept", "XDG_CACHE_HOME");
}

// What happens on a full disk: the file cannot be written.
TEST_F(TuningFileTest, AFailureToWriteIsANotice) {
  const TuningFile file = open();
  std::filesystem::create_directory(file.path());  // nothing can take its name
  file.write(two_decisions());
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_SAYS(told_[0], "not kept");
}

TEST_F(TuningFileTest, WithoutAFolderNothingIsKept) {
  const TuningFile file("", kMachine, tell_);
  file.write(two_decisions());
  EXPECT_TRUE(file.read().empty());
  EXPECT_EQ(told_, std::vector<std::string>());
}

TEST_F(TuningFileTest, ASecondProcessFindsWhatTheFirstMeasured) {
  auto first = std::make_unique<TuningFile>(open());
  std::vector<std::string> told;
  std::promise<void> waits;
  KeptDecisions found;
  std::thread second([&] {
    const TuningFile file(folder_.path("cache/pando"), kMachine, [&](const std::string& line) {
      told.push_back(line);
      if (told.size() == 1) waits.set_value();
    });
    found = file.read();
  });
  waits.get_future().wait();
  first->write(two_decisions());
  first.reset();
  second.join();
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(told, std::vector<std::string>{"waiting for another process that times kernels"});
}

TEST_F(TuningFileTest, PatienceEnds) {
  const TuningFile first = open();
  const TuningFile second(folder_.path("cache/pando"), kMachine, tell_, 0);
  second.write(two_decisions());
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_SAYS(told_[1], "not kept", "another process");
  EXPECT_TRUE(first.read().empty());
}

TEST(TuningFolder, IsInTheCacheOfTheUser) {
  const testing_support::KeptEnvironment cache("XDG_CACHE_HOME");
  const testing_support::KeptEnvironment home("HOME");
  ::setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(default_tuning_folder(), "/somewhere/pando/kernels");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(default_tuning_folder(), "/home/me/.cache/pando/kernels");
  ::unsetenv("HOME");
  EXPECT_EQ(default_tuning_folder(), "");
}

}  // namespace
}  // namespace pando::runtime
