#include "pando/train/classification.h"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "tests/data/foreign_software.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

using testing_support::error_of;

// Three classes: 4 of class 0 (3 correct, one predicted as 1), 2 of class 1 (both correct), none of
// 2, which is never predicted either.
ClassReport small_report() {
  const Tensor outputs = Tensor::of_f32({6, 3}, {0.8f, 0.1f, 0.1f,    //
                                                 0.6f, 0.4f, 0.0f,    //
                                                 0.2f, 0.7f, 0.1f,    //
                                                 0.5f, 0.25f, 0.25f,  //
                                                 0.0f, 1.0f, 0.0f,    //
                                                 0.1f, 0.6f, 0.3f});
  const std::vector<int32_t> labels = {0, 0, 0, 0, 1, 1};
  return classify(outputs, labels);
}

TEST(ClassReport, CountsByHand) {
  const ClassReport report = small_report();
  EXPECT_EQ(report.samples(), 6);
  EXPECT_EQ(report.count(0, 0), 3);
  EXPECT_EQ(report.count(0, 1), 1);
  EXPECT_EQ(report.count(1, 1), 2);
  EXPECT_EQ(report.count(1, 0), 0);
  EXPECT_DOUBLE_EQ(report.accuracy(), 5.0 / 6);
  EXPECT_DOUBLE_EQ(report.scores(0).precision, 1);
  EXPECT_DOUBLE_EQ(report.scores(0).recall, 0.75);
  EXPECT_DOUBLE_EQ(report.scores(0).f1, 6.0 / 7);
  EXPECT_EQ(report.scores(0).support, 4);
  EXPECT_DOUBLE_EQ(report.scores(1).precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(report.scores(1).recall, 1);
  EXPECT_DOUBLE_EQ(report.scores(1).f1, 0.8);
  EXPECT_FALSE(report.top_5_accuracy().has_value());
}

TEST(ClassReport, AClassThatNeverOccursScoresZero) {
  const ClassReport report = small_report();
  EXPECT_EQ(report.scores(2).support, 0);
  EXPECT_EQ(report.scores(2).precision, 0);
  EXPECT_EQ(report.scores(2).recall, 0);
  EXPECT_EQ(report.scores(2).f1, 0);
  EXPECT_DOUBLE_EQ(report.macro_mean().recall, (0.75 + 1) / 3);
  EXPECT_DOUBLE_EQ(report.weighted_mean().recall, 5.0 / 6);
}

TEST(ClassReport, WithoutSamplesEverythingIsZero) {
  const ClassReport report(2);
  EXPECT_EQ(report.accuracy(), 0);
  EXPECT_EQ(report.weighted_mean().f1, 0);
  EXPECT_SAYS(to_text(report), "0.00 % of 0 samples");
}

TEST(ClassReport, OfEqualOutputsTheFirstWinsAndNotANumberIsWrong) {
  const Tensor outputs = Tensor::of_f32({3, 2}, {0.5f, 0.5f, NAN, 1, 0, NAN});
  const std::vector<int32_t> labels = {0, 1, 0};
  const ClassReport report = classify(outputs, labels);
  EXPECT_EQ(report.count(0, 0), 1);
  EXPECT_EQ(report.undecided(), 2);
  EXPECT_DOUBLE_EQ(report.accuracy(), 1.0 / 3);
  EXPECT_EQ(report.scores(1).support, 1);
  EXPECT_SAYS(to_text(report), "2 samples have outputs that are not numbers");
}

TEST(ClassReport, PiecesGiveTheSameAsTheWhole) {
  RandomStream random(3);
  Tensor outputs(DType::f32, {40, 12});
  for (float& value : outputs.f32()) value = static_cast<float>(random.next_below(1000));
  std::vector<int32_t> labels;
  for (int i = 0; i < 40; ++i) labels.push_back(static_cast<int32_t>(random.next_below(12)));
  const ClassReport whole = classify(outputs, labels);
  ClassReport pieces(12);
  pieces.add(outputs.rows(0, 7), std::span(labels).first(7));
  pieces.add(outputs.rows(7, 40), std::span(labels).subspan(7));
  EXPECT_EQ(confusion_csv(whole), confusion_csv(pieces));
  EXPECT_EQ(to_text(whole), to_text(pieces));
}

TEST(ClassReport, RefusesWhatDoesNotFit) {
  EXPECT_SAYS(error_of([] { ClassReport(0); }), "at least 1 class", "got 0");
  const std::vector<int32_t> two = {0, 1};
  EXPECT_SAYS(error_of([&] {
                classify(Tensor(DType::f32, {2, 3, 4}), two);
              }),
              "f32 [samples, classes]", "got f32 [2,3,4]");
  ClassReport report(3);
  EXPECT_SAYS(error_of([&] {
                report.add(Tensor(DType::f32, {2, 4}), two);
              }),
              "f32 [samples, 3]", "got f32 [2,4]");
  EXPECT_SAYS(error_of([&] { report.add(Tensor(DType::i32, {2, 3}), two); }), "got i32");
  EXPECT_SAYS(error_of([&] { report.add(Tensor(DType::f32, {3, 3}), two); }), "3 samples", "got 2");
  const std::vector<int32_t> wrong = {0, 3};
  EXPECT_SAYS(error_of([&] {
                report.add(Tensor(DType::f32, {2, 3}), wrong);
              }),
              "label 1", "0 to 2", "got 3");
  EXPECT_EQ(report.samples(), 0);
  EXPECT_SAYS(error_of([&] { to_text(report, {"a", "b"}); }), "3 classes", "got 2");
}

TEST(ClassReport, TextHasNamesMeansConfusionsAndMatrix) {
  const std::string text = to_text(small_report(), {"cat", "dog", "a name that is much too long"});
  EXPECT_SAYS(text, "cat                          1.0000     0.7500     0.8571          4\n");
  EXPECT_SAYS(text, "a name that is much to..");
  EXPECT_SAYS(text, "83.33 % of 6 samples\n");
  EXPECT_SAYS(text, "cat predicted as dog: 1 (25.0 %)\n");
  EXPECT_SAYS(text, "  0 cat                          3     1     0\n");
  // A program that searches the output of a run for accuracies must not find one here.
  EXPECT_EQ(text.find("accuracy:"), std::string::npos);
}

TEST(ClassReport, ManyClassesHaveNoMatrixAsText) {
  EXPECT_EQ(to_text(ClassReport(21)).find("true class"), std::string::npos);
  EXPECT_SAYS(to_text(ClassReport(20)), "true class");
}

TEST(ClassReport, CsvQuotesWhatItMust) {
  const std::vector<std::string> names = {"a,b", "say \"c\"", "d"};
  EXPECT_EQ(scores_csv(small_report(), names).substr(0, 60),
            "class,name,support,precision,recall,f1\n0,\"a,b\",4,1,0.75,0.85");
  EXPECT_EQ(confusion_csv(small_report(), names),
            "true class,\"a,b\",\"say \"\"c\"\"\",d\n\"a,b\",3,1,0\n\"say \"\"c\"\"\",0,2,0\n"
            "d,0,0,0\n");
}

TEST(ClassReport, AgreesWithNumpyAndScikitLearn) {
  constexpr int64_t kClasses = 12;
  RandomStream random(7);
  const testing_support::TempFolder folder;
  Tensor outputs(DType::f32, {500, kClasses});
  std::vector<int32_t> labels;
  std::ostringstream table;
  table.precision(9);
  for (int64_t i = 0; i < 500; ++i) {
    labels.push_back(static_cast<int32_t>(random.next_below(kClasses - 1)));  // none of the last
    table << labels.back();
    for (int64_t k = 0; k < kClasses; ++k) {
      const auto noise = static_cast<float>(random.next_below(1 << 20)) / (1 << 20);
      float& value = outputs.f32()[static_cast<size_t>(i * kClasses + k)];
      value = noise + (k == labels.back() ? 0.5f : 0.0f);
      table << ' ' << value;
    }
    table << '\n';
  }
  const std::string file = folder.write_text("outputs", table.str());
  const auto result = testing_support::run_command(
      PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/train/class_report_check.py' '" + file + "'");
  if (result.exit_code == testing_support::kMissingPackage) GTEST_SKIP() << "no NumPy";
  ASSERT_EQ(result.exit_code, 0);
  const ClassReport report = classify(outputs, labels);
  std::istringstream theirs(result.output);
  const auto expect_next = [&](const ClassScores& ours, bool with_support) {
    double precision = 0, recall = 0, f1 = 0, support = 0;
    theirs >> precision >> recall >> f1 >> support;
    EXPECT_NEAR(ours.precision, precision, 1e-12);
    EXPECT_NEAR(ours.recall, recall, 1e-12);
    EXPECT_NEAR(ours.f1, f1, 1e-12);
    if (with_support) {
      EXPECT_EQ(static_cast<double>(ours.support), support);
    }
  };
  for (int64_t k = 0; k < kClasses; ++k) expect_next(report.scores(k), true);
  expect_next(report.macro_mean(), false);
  expect_next(report.weighted_mean(), false);
  double top_5 = 0;
  theirs >> top_5;
  ASSERT_FALSE(theirs.fail());
  EXPECT_NEAR(report.top_5_accuracy().value(), top_5, 1e-12);
}

}  // namespace
}  // namespace pando
