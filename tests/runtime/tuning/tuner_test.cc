#include "pando/runtime/tuning/tuner.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "pando/base/memory_limit.h"
#include "pando/compiler/passes/passes.h"
#include "pando/ir/text.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::runtime {
namespace {

using compiler::KernelDecision;
using compiler::KernelOption;
using compiler::KernelTime;
using compiler::TunableLayer;
using testing_support::TempFolder;

constexpr const char* kConv = R"(graph(x: f32[2,32,32,32] feed, k: f32[3,3,32,32] variable) {
    a = conv(x, k) {padding="same"} @first
    b = conv(a, k) {padding="same"} @second
    return result b=b })";

// A machine whose kernels take the times that the test says.
class TunerTest : public testing::Test {
 protected:
  TunerOptions options(Tuning tuning = Tuning::quick) {
    return {.tuning = tuning,
            .folder = folder_.path(),
            .machine = {"A processor", "avx2", "1", 2},
            .measure = [this](const TunableLayer&,
                              const std::vector<KernelOption>& all) { return measure(all); },
            .seconds = [this] { return clock_ += 0.5; },
            .tell = [this](const std::string& line) { told_.push_back(line); }};
  }

  std::vector<KernelTime> measure(const std::vector<KernelOption>& all) {
    ++measurements_;
    timed_.clear();
    std::vector<KernelTime> times;
    for (const KernelOption& option : all) {
      timed_.push_back(option.candidate);
      const auto found = seconds_.find(option.candidate);
      times.push_back({option.candidate, found == seconds_.end() ? 1 : found->second, 1e-7});
    }
    return times;
  }

  // The candidates of both convolutions after the graph is tuned.
  std::vector<std::string> tuned(Tuner& tuner, WinogradTiles most = WinogradTiles::up_to_4) {
    compiler::CompileState state{.graph = ir::parse_graph(kConv), .options = {.winograd = most}};
    state.options.decide = [&](const TunableLayer& layer) { return tuner.decide(layer); };
    compiler::InferShapes().run(state);
    compiler::SelectKernels().run(state);
    std::vector<std::string> names;
    for (const char* value : {"a", "b"}) {
      names.push_back(state.kernels.at(state.graph.find_value(value)->producer()).candidate);
    }
    return names;
  }
  std::vector<std::string> tuned(Tuning tuning = Tuning::quick) {
    Tuner tuner(options(tuning));
    std::vector<std::string> names = tuned(tuner);
    summary_ = tuner.finish();
    return names;
  }

  TempFolder folder_;
  std::map<std::string, double> seconds_;
  std::vector<std::string> timed_;
  std::vector<std::string> told_;
  TuningSummary summary_;
  int measurements_ = 0;
  double clock_ = 0;
};

using Names = std::vector<std::string>;

TEST_F(TunerTest, TheTableStaysUnlessAnotherIsClearlyFaster) {
  seconds_ = {{"winograd4", 1}, {"winograd", 0.96}, {"direct", 2}};
  EXPECT_EQ(tuned(), (Names{"winograd4", "winograd4"}));
  EXPECT_EQ(summary_.changed, 0);
  EXPECT_EQ(summary_.table_seconds, summary_.chosen_seconds);
}

TEST_F(TunerTest, AClearWinIsChosen) {
  seconds_ = {{"winograd4", 1}, {"winograd", 0.94}, {"direct", 0.5}};
  EXPECT_EQ(tuned(), (Names{"direct", "direct"}));
  EXPECT_EQ(measurements_, 1);  // both layers have the same shape
  EXPECT_EQ(summary_.layers, 1);
  EXPECT_EQ(summary_.timed, 1);
  EXPECT_EQ(summary_.changed, 1);
  EXPECT_EQ(summary_.table_seconds, 2);
  EXPECT_EQ(summary_.chosen_seconds, 1);
  EXPECT_EQ(summary_.seconds, 0.5);
  EXPECT_SAYS(to_text(Tuning::quick, summary_), "--tune quick", "1 different layer timed in 0.5 s",
              "1 choice differs", "50.0 % of the 2000.0 ms");
}

TEST_F(TunerTest, ChoicesAreKept) {
  seconds_ = {{"winograd4", 1}, {"direct", 0.5}};
  tuned();
  seconds_ = {{"winograd4", 1}, {"direct", 5}};
  EXPECT_EQ(tuned(), (Names{"direct", "direct"}));
  EXPECT_EQ(measurements_, 1);
  EXPECT_EQ(summary_.timed, 0);
  EXPECT_EQ(summary_.changed, 1);
  EXPECT_EQ(told_, Names());
}

TEST_F(TunerTest, FullTimesMoreAndReplacesQuick) {
  tuned();
  EXPECT_EQ(std::ranges::count(timed_, "onednn"), 0);
  EXPECT_EQ(std::ranges::count(timed_, "reference"), 0);
  tuned(Tuning::full);
  EXPECT_EQ(std::ranges::count(timed_, "onednn"), 1);
  EXPECT_EQ(measurements_, 2);
  tuned(Tuning::full);
  tuned(Tuning::quick);
  EXPECT_EQ(measurements_, 2);
}

TEST_F(TunerTest, ALimitOfTilesIsAnotherLayer) {
  seconds_ = {{"winograd4", 1}, {"winograd", 1}, {"direct", 0.9}};
  tuned();
  Tuner tuner(options());
  EXPECT_EQ(tuned(tuner, WinogradTiles::up_to_2), (Names{"direct", "direct"}));
  EXPECT_EQ(measurements_, 2);
  EXPECT_EQ(std::ranges::count(timed_, "winograd4"), 0);
  EXPECT_EQ(tuned(tuner, WinogradTiles::off), (Names{"direct", "direct"}));
  EXPECT_EQ(measurements_, 2);  // only one kernel is left
}

TEST_F(TunerTest, ALayerThatDoesNotFitKeepsItsKernel) {
  TunerOptions given = options();
  given.measure = [](const TunableLayer&,
                     const std::vector<KernelOption>&) -> std::vector<KernelTime> {
    throw OverMemoryLimit("too much");
  };
  Tuner tuner(given);
  EXPECT_EQ(tuned(tuner), (Names{"winograd4", "winograd4"}));
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_SAYS(told_[0], "'first'", "too much", "keeps its kernel");
}

TEST_F(TunerTest, AChoiceForAnotherTableIsMadeAgain) {
  tuned();
  KeptDecisions kept;
  {
    const TuningFile file(folder_.path(), options().machine, options().tell);
    kept = file.read();
    ASSERT_EQ(kept.size(), 1u);
    kept.begin()->second.decision.table = "direct";
    file.write(kept);
  }
  tuned();
  EXPECT_EQ(measurements_, 2);
}

TEST_F(TunerTest, ALayerWhoseKernelIsGoneIsTimedAgain) {
  seconds_ = {{"winograd4", 1}, {"winograd", 1}, {"direct", 1}};
  tuned();
  {
    const TuningFile file(folder_.path(), options().machine, options().tell);
    KeptDecisions kept = file.read();
    kept.begin()->second.decision.candidate = "nobody";
    file.write(kept);
  }
  EXPECT_EQ(tuned(), (Names{"winograd4", "winograd4"}));
  EXPECT_EQ(measurements_, 2);
  EXPECT_EQ(summary_.changed, 0);
}

}  // namespace
}  // namespace pando::runtime
