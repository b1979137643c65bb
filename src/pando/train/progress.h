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
using Metrics = std::span<const Logs::value_type>;

struct ProgressOptions {
  std::ostream* out = nullptr;    // nothing is written without one
  bool is_terminal = false;       // redraw one line with '\r'
  int width = 0;                  // columns; 0 asks the terminal of standard output at every redraw
  std::function<double()> clock;  // seconds that never go back; empty: the steady clock
  int verbose = 1;                // 0 silent, 1 bar or plain lines, 2 one line per epoch
};

// Standard output; a terminal unless it is redirected or TERM is "dumb".
ProgressOptions standard_progress(int verbose);

// "0.4536", or "9.1234e-04" where four decimals would say too little.
std::string format_metric(double value);

// One epoch after the other: begin_epoch, update..., [begin_validation, update...], end_epoch.
// Used by one thread. An update between two redraws (10 per second on a terminal; otherwise a line
// after 30 s, or after 10 % of the epoch and 5 s) costs one reading of the clock.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  ~Progress();  // ends an open line, so that what follows starts in the first column
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `epoch` counts from 1. `steps` of the epoch; 0 when unknown.
  void begin_epoch(int64_t epoch, int64_t epochs, int64_t steps);
  // An epoch without a number, to evaluate.
  void begin_evaluation(int64_t steps);
  // `step` steps are done.
  void update(int64_t step, Metrics metrics);
  // The updates that follow count steps of the validation; the epoch's line stays in view.
  void begin_validation(int64_t steps);
  void end_epoch(Metrics metrics);

  // Writes a line of its own above the bar.
  void message(std::string_view line);

 private:
  double elapsed() const { return now() - begin_time_; }
  double now() const { return options_.clock(); }
  bool is_due(int64_t step, double time) const;
  int columns() const;
  double seconds_per_step(double time) const;
  std::string counter() const;
  std::string bar(int width) const;
  std::string state(double time) const;
  std::string running_line(double time, Metrics metrics) const;
  void draw(const std::string& line);
  void clear_line();

  ProgressOptions options_;
  int64_t steps_ = 0;
  int64_t step_ = 0;
  int64_t first_step_ = 0;  // at the first update: what it took includes compilation
  int64_t validation_steps_ = 0;
  int64_t validation_step_ = 0;
  bool validating_ = false;
  double begin_time_ = 0;
  double first_time_ = 0;
  double last_step_time_ = 0;
  double shown_time_ = 0;
  int64_t shown_step_ = 0;
  size_t drawn_columns_ = 0;  // of the open line on a terminal
};

}  // namespace pando::train
