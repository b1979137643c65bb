#include "pando/train/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::train {
namespace {

// A progress that writes into a string at times that the test sets.
struct Screen {
  std::ostringstream out;
  double time = 100;
  int clock_reads = 0;
  Progress progress;

  explicit Screen(bool is_terminal, int width = 120, int verbose = 1)
      : progress({.out = &out,
                  .is_terminal = is_terminal,
                  .width = width,
                  .clock =
                      [this] {
                        ++clock_reads;
                        return time;
                      },
                  .verbose = verbose}) {}

  void update(double at, int64_t step, Logs metrics = {}) {
    time = 100 + at;
    progress.update(step, metrics);
  }
  void end_epoch(double at, Logs metrics = {}) {
    time = 100 + at;
    progress.end_epoch(metrics);
  }
  std::string text() const { return out.str(); }
  // The text since the last '\r'.
  std::string line() const { return text().substr(text().rfind('\r') + 1); }
  int64_t lines() const {
    const std::string all = text();
    return std::count(all.begin(), all.end(), '\n');
  }
};

TEST(Progress, ALastLineThatDoesNotFitHasNoBar) {
  Screen screen(true, 60);
  screen.progress.begin_epoch(1, 3, 938);
  screen.end_epoch(9, {{"loss", 1.5}});
  EXPECT_EQ(screen.text().find('['), std::string::npos) << screen.text();
  EXPECT_NE(screen.text().find("loss: 1.5000"), std::string::npos) << screen.text();
}

TEST(Progress, EndsAnEpochWithTheLineOfKeras) {
  Screen screen(true);
  screen.progress.begin_epoch(1, 3, 938);
  screen.update(0.5, 1);
  screen.update(9.0, 938, {{"loss", 1.6}});
  screen.end_epoch(9.1, {{"loss", 1.67324}, {"accuracy", 0.45361}, {"val_loss", 0.9}});
  EXPECT_EQ(screen.line(),
            "938/938 [==============================] - 9s 9ms/step - loss: 1.6732 - "
            "accuracy: 0.4536 - val_loss: 0.9000\n");
  EXPECT_EQ(screen.text().rfind("Epoch 1/3\n", 0), 0u);
}

TEST(Progress, ShowsBarAndTimeToGoWhileItRuns) {
  Screen screen(true);
  screen.progress.begin_epoch(1, 1, 938);
  screen.update(1.0, 1);
  screen.update(7.3, 64, {{"loss", 2.2901}});
  EXPECT_EQ(screen.line(), " 64/938 [=>............................] - ETA: 1:27 - loss: 2.2901");
}

TEST(Progress, TimeToGoHasHoursMinutesSeconds) {
  Screen screen(true);
  screen.progress.begin_epoch(1, 1, 10001);
  screen.update(1, 1);
  screen.update(2, 2);
  EXPECT_NE(screen.line().find("ETA: 2:46:39"), std::string::npos) << screen.line();
  screen.update(9971, 9971);
  EXPECT_NE(screen.line().find("ETA: 30s"), std::string::npos) << screen.line();
}

TEST(Progress, RedrawsTenTimesPerSecondAndReadsTheClockOncePerUpdate) {
  Screen screen(true);
  screen.progress.begin_epoch(1, 1, 1000);
  screen.update(0.0, 1);
  const std::string before = screen.text();
  const int reads = screen.clock_reads;
  for (int step = 2; step < 50; ++step) screen.update(0.0019 * step, step);
  EXPECT_EQ(screen.text(), before);
  EXPECT_EQ(screen.clock_reads, reads + 48);
  screen.update(0.11, 60);
  EXPECT_NE(screen.text(), before);
}

TEST(Progress, ShortLineCoversTheLongerOneBeforeIt) {
  Screen screen(true);
  screen.progress.begin_epoch(1, 1, 10);
  screen.update(1, 1, {{"accuracy", 0.5}});
  screen.update(2, 2);
  const std::string line = screen.line();
  EXPECT_EQ(line.substr(line.size() - 19), std::string(19, ' '));
}

TEST(Progress, FitsTheWidthOfTheTerminal) {
  for (int width : {5, 20, 40, 60, 80, 90, 200}) {
    Screen screen(true, width);
    screen.progress.begin_epoch(1, 1, 938);
    screen.update(1, 1);
    screen.update(2, 500, {{"loss", 1.0}, {"accuracy", 0.5}, {"top_5_accuracy", 0.75}});
    EXPECT_LT(screen.line().size(), static_cast<size_t>(width));
    EXPECT_EQ(screen.line().find('[') != std::string::npos, width >= 90) << screen.line();
  }
}

TEST(Progress, PlainLinesWithoutControlCharacters) {
  Screen screen(false);
  screen.progress.begin_epoch(2, 3, 100);
  for (int step = 1; step <= 100; ++step) screen.update(step, step, {{"loss", 0.5}});
  screen.end_epoch(100, {{"loss", 0.5}});
  EXPECT_EQ(screen.text().find('\r'), std::string::npos);
  EXPECT_EQ(screen.lines(), 1 + 9 + 1);
  EXPECT_NE(screen.text().find(" 10/100 - ETA: 1:30 (run 3:10) - loss: 0.5000\n"),
            std::string::npos);
  EXPECT_NE(screen.text().find("100/100 - 100s 1s/step - loss: 0.5000\n"), std::string::npos);
}

TEST(Progress, PlainLinesStayFewInShortEpochsAndComeInLongOnes) {
  Screen brief(false);
  brief.progress.begin_epoch(1, 1, 1000);
  for (int step = 1; step <= 1000; ++step) brief.update(step * 0.004, step);
  brief.end_epoch(4);
  EXPECT_EQ(brief.lines(), 2);

  Screen slow(false);
  slow.progress.begin_epoch(1, 1, 1000);
  for (int step = 1; step <= 50; ++step) slow.update(step * 10, step);
  EXPECT_EQ(slow.lines(), 1 + 16);
}

TEST(Progress, ValidationKeepsMovingAndDoesNotCountAsStepTime) {
  Screen screen(true);
  screen.progress.begin_epoch(1, 1, 10);
  for (int step = 1; step <= 10; ++step) screen.update(step, step, {{"loss", 1.0}});
  screen.progress.begin_validation(157);
  screen.update(20, 30, {{"loss", 1.0}});
  EXPECT_NE(screen.line().find("10/10 ["), std::string::npos) << screen.line();
  EXPECT_NE(screen.line().find(" - 20s 1s/step - validating 30/157 - ETA: 42s"), std::string::npos)
      << screen.line();
  screen.end_epoch(30, {{"loss", 1.0}});
  EXPECT_NE(screen.line().find(" - 30s 1s/step - loss: 1.0000\n"), std::string::npos);
}

TEST(Progress, TimeToGoIncludesTheEpochsThatFollow) {
  Screen screen(true);
  screen.progress.begin_epoch(2, 5, 101);
  screen.update(1, 1);
  screen.update(11, 11);  // a second per step; 90 left here and 101 in each of three epochs
  EXPECT_NE(screen.line().find(" - ETA: 1:30 (run 6:33)"), std::string::npos) << screen.line();
}

TEST(Progress, TimeToGoIncludesValidationBeforeAndAfterItWasMeasured) {
  Screen screen(true);
  screen.progress.expect_validation({.steps_per_epoch = 30, .steps_at_end = 60});
  screen.progress.begin_epoch(1, 2, 100);
  screen.update(1, 1);
  screen.update(10, 10);  // 90 + 30 / 3 for the epoch; 100 + 10 for the other, 60 / 3 at the end
  EXPECT_NE(screen.line().find(" - ETA: 1:40 (run 3:50)"), std::string::npos) << screen.line();
  screen.update(100, 100);
  screen.progress.begin_validation(30);
  screen.update(103, 15);  // half of it took 3 s, the estimates of the rest stand
  EXPECT_NE(screen.line().find(" - validating 15/30 - ETA: 3s (run 2:13)"), std::string::npos)
      << screen.line();
  screen.end_epoch(106);
  screen.progress.begin_epoch(2, 2, 100);
  screen.update(107, 1);
  screen.update(116, 10);  // now a validation takes 6 s and those at the end 12 s
  EXPECT_NE(screen.line().find(" - ETA: 1:36 (run 1:48)"), std::string::npos) << screen.line();
}

TEST(Progress, JoinedEpochsAreNamedFromTheFirstToTheLast) {
  Screen screen(false);
  screen.progress.begin_epoch(1, 6, 60, 0, 6);
  screen.progress.begin_epoch(4, 6, 60, 30, 6);
  screen.progress.begin_epoch(6, 6, 60, 50, 6);
  EXPECT_EQ(screen.out.str(), "Epochs 1-6/6\nEpochs 4-6/6\nEpoch 6/6\n");
}

TEST(Progress, AnEpochThatIsResumedKnowsWhatIsDone) {
  Screen screen(true);
  screen.progress.begin_epoch(3, 3, 1000, 800);
  screen.update(2, 820);  // the first update already tells the time of a step
  EXPECT_NE(screen.line().find("820/1000 ["), std::string::npos) << screen.line();
  EXPECT_NE(screen.line().find(" - ETA: 18s"), std::string::npos) << screen.line();
  screen.update(3, 840);
  EXPECT_NE(screen.line().find(" - ETA: 8s"), std::string::npos) << screen.line();
  screen.end_epoch(11);
  EXPECT_NE(screen.line().find(" - 11s 50ms/step"), std::string::npos) << screen.line();
}

TEST(Progress, VerboseZeroIsSilentAndTwoIsOneLine) {
  Screen silent(true, 100, 0);
  silent.progress.begin_epoch(1, 1, 10);
  silent.update(1, 10);
  silent.progress.message("note");
  silent.end_epoch(1);
  EXPECT_EQ(silent.text(), "");

  Screen single(true, 100, 2);
  single.progress.begin_epoch(1, 1, 10);
  for (int step = 1; step <= 10; ++step) single.update(step * 60, step);
  single.end_epoch(600, {{"loss", 2}});
  EXPECT_EQ(single.text(), "Epoch 1/1\n10/10 - 600s 60s/step - loss: 2.0000\n");
}

TEST(Progress, MessageStandsAboveTheBarAndTheDestructorEndsTheLine) {
  std::ostringstream out;
  {
    Progress progress({.out = &out, .is_terminal = true, .width = 80, .clock = [] { return 1.0; }});
    progress.begin_epoch(1, 1, 10);
    progress.update(1, {});
    progress.message("saved");
    EXPECT_NE(out.str().find("\rsaved\n"), std::string::npos);
    progress.begin_epoch(1, 1, 10);
    progress.update(1, {});
  }
  EXPECT_EQ(out.str().back(), '\n');
}

TEST(Progress, EvaluationIsAnEpochWithoutANumber) {
  Screen screen(true);
  screen.progress.begin_evaluation(157);
  screen.update(1, 157);
  screen.end_epoch(1, {{"loss", 2}});
  EXPECT_EQ(screen.text().find("Epoch"), std::string::npos) << screen.text();
  EXPECT_NE(screen.line().find("157/157 [==============================] - 1s"), std::string::npos);
}

TEST(Progress, LossScalingFactorsAreShownInFull) {
  Screen screen(true);
  screen.progress.begin_epoch(1, 1, 2);
  screen.update(1, 2);
  screen.end_epoch(1, {{"loss", 2}, {"loss_scaling_factor", 16777216}});
  EXPECT_NE(screen.text().find(" - loss: 2.0000 - loss_scaling_factor: 16777216"),
            std::string::npos);
}

TEST(Progress, EpochOfUnknownLength) {
  Screen screen(true);
  screen.progress.begin_epoch(1, 1, 0);
  screen.update(1, 1);
  screen.update(4, 31);
  EXPECT_EQ(screen.line(), "31/Unknown - 4s 100ms/step");
  screen.end_epoch(4);
  EXPECT_NE(screen.line().find("31/31 [==============================] - 4s"), std::string::npos);
}

TEST(Progress, FormatsNumbersAsKeras) {
  EXPECT_EQ(format_metric(0.45361), "0.4536");
  EXPECT_EQ(format_metric(12.5), "12.5000");
  EXPECT_EQ(format_metric(0.00091234), "9.1234e-04");
  EXPECT_EQ(format_metric(-0.00091234), "-9.1234e-04");
  EXPECT_EQ(format_metric(0), "0.0000e+00");
  EXPECT_EQ(format_metric(std::nan("")), "nan");
}

TEST(Progress, RefusesAnUnknownVerbosity) {
  try {
    Progress progress({.verbose = 3});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("got 3"), std::string::npos);
  }
}

// Standard output is a terminal while an object exists.
struct TerminalOutput {
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  int saved = dup(STDOUT_FILENO);
  TerminalOutput() {
    grantpt(master);
    unlockpt(master);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    const winsize size{.ws_row = 25, .ws_col = 33};
    ioctl(slave, TIOCSWINSZ, &size);
    dup2(slave, STDOUT_FILENO);
    close(slave);
  }
  ~TerminalOutput() {
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(master);
  }
};

TEST(Progress, StandardOutputIsATerminalUnlessDumb) {
  const TerminalOutput terminal;
  ASSERT_GE(terminal.master, 0);
  setenv("TERM", "xterm", 1);
  EXPECT_TRUE(standard_progress(1).is_terminal);
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(standard_progress(1).is_terminal);
  EXPECT_EQ(standard_progress(2).verbose, 2);
}

TEST(Progress, AsksTheTerminalForItsWidth) {
  const TerminalOutput terminal;
  Screen screen(true, 0);
  screen.progress.begin_epoch(1, 1, 938);
  screen.update(1, 1, {{"a_name_that_is_too_long_for_it", 1.0}});
  EXPECT_EQ(screen.line().size(), 32u);
}

}  // namespace
}  // namespace pando::train
