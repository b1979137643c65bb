// The progress of training as Keras shows it: a bar that is redrawn on a terminal, a few plain
// lines in a log file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "pando/train/history.h"

namespace pando::train {

// Names and running values, in the order in which they are shown.
using ShownValues = std::span<const Logs::value_type>;

struct ProgressOptions {
  std::ostream* out = nullptr;    // nothing is written without one
  bool is_terminal = false;       // redraw one line with '\r'
  int width = 0;                  // columns; 0 asks the terminal of standard output at every redraw
  std::function<double()> clock;  // monotonic seconds; empty: the steady clock
  int verbose = 1;                // 0 silent, 1 bar or plain lines, 2 one line per epoch
};

// The validation of a run, which adds to the remaining time. Steps are as large as those of
// training.
struct ValidationAhead {
  int64_t steps_per_epoch = 0;  // steps of the validation at the end of every epoch; 0: none
  int64_t steps_at_end = 0;     // steps of validations after the last epoch
};

// Standard output; a terminal unless it is redirected or TERM is "dumb".
ProgressOptions standard_progress(int verbose);

// "0.4536", or "9.1234e-04" if four decimals are too few.
std::string format_metric(double value);

// One epoch after the other: begin_epoch, update..., [begin_validation, update...], end_epoch. Used
// by one thread. An update between two redraws (10 per second on a terminal; otherwise a line after
// 30 s, or after 10 % of the epoch and 5 s) costs one reading of the clock. Nothing is coloured.
//
// The remaining time of an epoch includes its validation; that of the run includes all remaining
// epochs and validations. Until a validation was measured, one of its steps counts as a third of a
// training step, which also has a backward pass.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  ~Progress();  // ends an open line, so that what follows starts in the first column
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Called before the first epoch.
  void expect_validation(const ValidationAhead& ahead) { ahead_ = ahead; }
  // `epoch` counts from 1. `steps` of the epoch, 0 if unknown; `done` of them were made before. If
  // the steps belong to several epochs, `last` is the number of the last one.
  void begin_epoch(int64_t epoch, int64_t epochs, int64_t steps, int64_t done = 0,
                   int64_t last = 0);
  // Begins an evaluation, which is an epoch without a number.
  void begin_evaluation(int64_t steps);
  // `step` steps are done.
  void update(int64_t step, ShownValues metrics);
  // The updates that follow count steps of the validation; the epoch's line stays visible.
  void begin_validation(int64_t steps);
  // Returns to the steps of training, in the middle of an epoch.
  void end_validation();
  void end_epoch(ShownValues metrics);

  // Writes a line of its own above the bar.
  void message(std::string_view line);

 private:
  double elapsed() const { return now() - begin_time_; }
  double now() const { return options_.clock(); }
  bool is_due(int64_t step, double time) const;
  int columns() const;
  double seconds_per_step(double time) const;
  double validation_seconds(double time, int64_t steps) const;
  double epoch_seconds_left(double time) const;
  std::string time_to_go(double time) const;
  std::string counter() const;
  std::string bar(int width) const;
  std::string state(double time) const;
  std::string running_line(double time, ShownValues metrics) const;
  void draw(const std::string& line);
  void clear_line();

  ProgressOptions options_;
  ValidationAhead ahead_;
  int64_t epochs_left_ = 0;  // after the current one
  int64_t steps_ = 0;
  int64_t step_ = 0;
  int64_t done_before_ = 0;  // steps of the epoch before begin_epoch()
  int64_t first_step_ = 0;   // at the first update: the time before it includes compilation
  int64_t validation_steps_ = 0;
  int64_t validation_step_ = 0;
  bool validating_ = false;
  double begin_time_ = 0;
  double first_time_ = 0;
  double last_step_time_ = 0;
  double validation_time_ = 0;      // when the validation began
  double validation_measured_ = 0;  // seconds of the last complete one; 0: none yet
  double shown_time_ = 0;
  int64_t shown_step_ = 0;
  size_t drawn_columns_ = 0;  // of the open line on a terminal
};

}  // namespace pando::train
