// The names of classes in reports on validation. The report itself is tested beside the validation.
#include "pando/app/run/validation_report.h"

#include <gtest/gtest.h>

#include "pando/app/flags/validate_options.h"
#include "pando/app/job/exit_code.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using ValidationReport = TrainingRunTest;

// The same files are Fashion-MNIST, which has names, and MNIST, which has none.
TEST_F(ValidationReport, HasTheClassNamesOfTheRunWhereTheDataHaveNone) {
  EXPECT_EQ(run_training(options("run")), kDone);
  for (const char* what : {"run", "run/checkpoints/epoch_2.0.h5"}) {
    const std::string again = what == std::string("run") ? "first" : "second";
    const std::vector<std::string> words = {(folder_.path / what).string(),
                                            "--dataset=mnist",
                                            "--dataset-path=" + folder_.path.string(),
                                            "--output-dir=" + (folder_.path / again).string(),
                                            "--slices=2",
                                            "--quiet"};
    EXPECT_EQ(run_training(parse_validate_options(words, out_).value()), kDone) << out_.str();
    EXPECT_SAYS(folder_.read(again + "/class_report.csv"), "Trouser", "Ankle boot");
    EXPECT_SAYS(folder_.read(again + "/class_report.txt"), "Trouser");
  }
}

TEST_F(ValidationReport, HasNumbersWhereNeitherHasNames) {
  TrainOptions given = options("run");
  given.data.dataset = "mnist";
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run/class_names.txt"));
  EXPECT_EQ(folder_.read("run/class_report.csv").find("Trouser"), std::string::npos);
}

}  // namespace
}  // namespace pando::app
