// SPDX-License-Identifier: MIT
#include "pando/train/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pando/base/clock.h"
#include "pando/base/environment.h"
#include "pando/base/error.h"
#include "pando/comm/job.h"

namespace pando::train {
namespace {

constexpr int kBarWidth = 30;
constexpr int kSmallestBar = 8;
constexpr double kRedrawSeconds = 0.1;
constexpr double kPlainSeconds = 30;          // a line at the latest, so that a log shows progress
constexpr double kPlainSecondsAtLeast = 5;    // between lines, so that short epochs stay short
constexpr int kPlainLines = 10;               // per epoch, unless 30 s pass
constexpr double kValidationShare = 1.0 / 3;  // of the time of a training step

int terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string format_eta(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(std::max(0.0, seconds)));
  if (whole > 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
  }
  if (whole > 60) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

std::string format_step_time(double seconds) {
  if (seconds >= 1 || seconds == 0) return fmt::format("{:.0f}s/step", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.0f}ms/step", seconds * 1e3);
  return fmt::format("{:.0f}us/step", seconds * 1e6);
}

std::string format_metrics(ShownValues metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) {
    // The factor is a power of two and is shown exactly.
    const bool is_factor = name == "loss_scaling_factor";
    text +=
        fmt::format(" - {}: {}", name, is_factor ? fmt::format("{}", value) : format_metric(value));
  }
  return text;
}

}  // namespace

ProgressOptions standard_progress(int verbose) {
  const bool dumb = environment("TERM") == "dumb";
  // A launcher merges the lines of all instances, although it may give each a terminal.
  const bool launched = comm::current_job().communicator != nullptr;
  const bool is_terminal = isatty(STDOUT_FILENO) != 0 && !dumb && !launched;
  return {.out = &std::cout, .is_terminal = is_terminal, .verbose = verbose};
}

std::string format_metric(double value) {
  if (std::abs(value) > 1e-3 || std::isnan(value)) return fmt::format("{:.4f}", value);
  return fmt::format("{:.4e}", value);
}

Progress::Progress(ProgressOptions options) : options_(std::move(options)) {
  if (options_.verbose < 0 || options_.verbose > 2) {
    throw InvalidArgument(
        "progress: verbose: expected 0 (silent), 1 (bar) or 2 (one line per epoch), got ",
        options_.verbose);
  }
  if (options_.out == nullptr) options_.verbose = 0;
  if (!options_.clock) options_.clock = steady_seconds;
}

Progress::~Progress() {
  if (drawn_columns_ > 0) *options_.out << '\n' << std::flush;
}

void Progress::begin_epoch(int64_t epoch, int64_t epochs, int64_t steps, int64_t done,
                           int64_t last) {
  message(last > epoch ? fmt::format("Epochs {}-{}/{}", epoch, last, epochs)
                       : fmt::format("Epoch {}/{}", epoch, epochs));
  begin_evaluation(steps);
  epochs_left_ = std::max<int64_t>(epochs - std::max(epoch, last), 0);
  step_ = first_step_ = shown_step_ = done_before_ = done;
}

void Progress::begin_evaluation(int64_t steps) {
  if (options_.verbose == 0) return;
  steps_ = std::max<int64_t>(steps, 0);
  step_ = first_step_ = shown_step_ = validation_steps_ = validation_step_ = 0;
  done_before_ = epochs_left_ = 0;
  validating_ = false;
  begin_time_ = first_time_ = last_step_time_ = shown_time_ = now();
}

void Progress::update(int64_t step, ShownValues metrics) {
  if (options_.verbose == 0) return;
  const double time = now();
  if (validating_) {
    validation_step_ = step;
  } else {
    if (step_ == done_before_) {
      first_step_ = step;
      first_time_ = time;
    }
    step_ = step;
    last_step_time_ = time;
  }
  if (!is_due(step, time)) return;
  if (options_.is_terminal) {
    draw(running_line(time, metrics));
  } else {
    *options_.out << counter() << state(time) << format_metrics(metrics) << '\n' << std::flush;
  }
  shown_time_ = time;
  shown_step_ = step_;
}

void Progress::begin_validation(int64_t steps) {
  validating_ = true;
  validation_steps_ = std::max<int64_t>(steps, 0);
  validation_step_ = 0;
  if (options_.verbose > 0) validation_time_ = now();
}

// The time of the validation does not count as time of training steps.
void Progress::end_validation() {
  validating_ = false;
  if (options_.verbose == 0) return;
  validation_measured_ = now() - validation_time_;
  first_time_ += validation_measured_;
  last_step_time_ += validation_measured_;
}

void Progress::end_epoch(ShownValues metrics) {
  if (options_.verbose == 0) return;
  if (validating_) validation_measured_ = now() - validation_time_;
  const bool with_bar = options_.verbose == 1 && options_.is_terminal;
  // An epoch of unknown length has as many steps as were made.
  if (steps_ == 0) steps_ = step_;
  clear_line();
  const std::string full_bar = with_bar ? " " + bar(kBarWidth) : "";
  const std::string rest =
      fmt::format(" - {:.0f}s {}", elapsed(), format_step_time(seconds_per_step(last_step_time_))) +
      format_metrics(metrics);
  // If both do not fit on one line, the bar is left out.
  const size_t length = counter().size() + full_bar.size() + rest.size();
  const bool fits = static_cast<size_t>(columns()) >= length;
  *options_.out << counter() << (fits ? full_bar : "") << rest << '\n' << std::flush;
}

void Progress::message(std::string_view line) {
  if (options_.verbose == 0) return;
  clear_line();
  *options_.out << line << '\n' << std::flush;
}

bool Progress::is_due(int64_t step, double time) const {
  if (options_.verbose == 2) return false;
  const double passed = time - shown_time_;
  if (options_.is_terminal) return passed >= kRedrawSeconds || (step == 1 && !validating_);
  // The last step is shown by end_epoch.
  if (!validating_ && step_ == steps_) return false;
  if (passed >= kPlainSeconds) return true;
  return !validating_ && steps_ > 0 && passed >= kPlainSecondsAtLeast &&
         (step_ - shown_step_) * kPlainLines >= steps_;
}

int Progress::columns() const { return options_.width > 0 ? options_.width : terminal_columns(); }

double Progress::seconds_per_step(double time) const {
  if (step_ > first_step_) {
    return (time - first_time_) / static_cast<double>(step_ - first_step_);
  }
  const int64_t steps = step_ - done_before_;
  return steps > 0 ? (time - begin_time_) / static_cast<double>(steps) : 0;
}

// The time of this many steps of validation.
double Progress::validation_seconds(double time, int64_t steps) const {
  const auto count = static_cast<double>(steps);
  if (validation_measured_ > 0 && ahead_.steps_per_epoch > 0) {
    return validation_measured_ * count / static_cast<double>(ahead_.steps_per_epoch);
  }
  return kValidationShare * seconds_per_step(time) * count;
}

double Progress::epoch_seconds_left(double time) const {
  if (!validating_) {
    return static_cast<double>(steps_ - step_) * seconds_per_step(time) +
           validation_seconds(time, ahead_.steps_per_epoch);
  }
  if (validation_step_ == 0) return validation_seconds(last_step_time_, ahead_.steps_per_epoch);
  return (time - validation_time_) * static_cast<double>(validation_steps_ - validation_step_) /
         static_cast<double>(validation_step_);
}

// " - ETA: 12s", with that of the run in parentheses if more follows.
std::string Progress::time_to_go(double time) const {
  const double epoch = epoch_seconds_left(time);
  std::string text = " - ETA: " + format_eta(epoch);
  if (epochs_left_ == 0 && ahead_.steps_at_end == 0) return text;
  const double steps_end = validating_ ? last_step_time_ : time;
  const double later = static_cast<double>(steps_) * seconds_per_step(steps_end) +
                       validation_seconds(steps_end, ahead_.steps_per_epoch);
  const double run = epoch + static_cast<double>(epochs_left_) * later +
                     validation_seconds(steps_end, ahead_.steps_at_end);
  return text + " (run " + format_eta(run) + ")";
}

// " 64/938", or "64/Unknown".
std::string Progress::counter() const {
  if (steps_ == 0) return fmt::format("{}/Unknown", step_);
  const std::string all = std::to_string(steps_);
  return fmt::format("{:>{}}/{}", step_, all.size(), all);
}

std::string Progress::bar(int width) const {
  const double part =
      steps_ == 0 ? 0 : std::min(1.0, static_cast<double>(step_) / static_cast<double>(steps_));
  const int filled = static_cast<int>(part * width);
  std::string text(static_cast<size_t>(std::max(0, filled - 1)), '=');
  if (filled > 0) text += step_ < steps_ ? '>' : '=';
  text.resize(static_cast<size_t>(width), '.');
  return "[" + text + "]";
}

// " - ETA: 12s", " - 12s 10ms/step" or " - 12s 10ms/step - validating 3/157 - ETA: 2s".
std::string Progress::state(double time) const {
  if (!validating_ && step_ < steps_) {
    return time_to_go(time);
  }
  const double step_time = seconds_per_step(last_step_time_);
  std::string text = fmt::format(" - {:.0f}s {}", time - begin_time_, format_step_time(step_time));
  if (!validating_) return text;
  return text + fmt::format(" - validating {}/{}", validation_step_, validation_steps_) +
         time_to_go(time);
}

// Fits the terminal: first the bar gets shorter, then it is left out, then the metrics are cut.
std::string Progress::running_line(double time, ShownValues metrics) const {
  const std::string head = counter();
  const std::string tail = state(time) + format_metrics(metrics);
  const int room = columns() - 1;  // the last column would wrap on some terminals
  const int spare = room - static_cast<int>(head.size() + tail.size()) - 3;
  std::string line = head;
  if (spare >= kSmallestBar && steps_ > 0) line += " " + bar(std::min(spare, kBarWidth));
  line += tail;
  if (static_cast<int>(line.size()) > room) line.resize(static_cast<size_t>(std::max(room, 0)));
  return line;
}

void Progress::draw(const std::string& line) {
  const size_t old = drawn_columns_;
  drawn_columns_ = line.size();
  *options_.out << '\r' << line;
  if (old > line.size()) *options_.out << std::string(old - line.size(), ' ');
  *options_.out << std::flush;
}

void Progress::clear_line() {
  if (drawn_columns_ == 0) return;
  *options_.out << '\r' << std::string(drawn_columns_, ' ') << '\r';
  drawn_columns_ = 0;
}

}  // namespace pando::train
