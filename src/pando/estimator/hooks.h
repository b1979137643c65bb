// What a user has called while an estimator runs: at its begin and end and between executions.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/train/callback.h"
#include "pando/train/run_mode.h"

namespace pando {

// What a hook may see and do. Valid during the call.
struct HookContext {
  RunMode mode = RunMode::train;
  // Steps done since the first training of the model; of the checkpoint where nothing is trained.
  int64_t global_step = 0;
  int64_t steps = 0;  // of the execution that just ended
  // Means of the execution that just ended over steps and replicas, the loss first; while
  // evaluating, of all executions so far.
  Logs logs = {};
  // In training: step by step and replica by replica, those of the last step only unless a hook
  // wants_all_values().
  const std::vector<StepValues>* values = nullptr;
  std::vector<std::string> names = {};  // of all values that can be logged
  double seconds = 0;                   // since the run began
  // Set it to end the run after this execution. Training saves a checkpoint then; an evaluation
  // goes on to its end, as figures of a part of the data would look like those of all.
  bool stop = false;
  std::function<void(std::string_view)> tell = {};  // writes a line
};

// Called by the thread that called train(), evaluate() or predict(), in the order of the list. An
// exception ends the run and reaches its caller.
class Hook {
 public:
  virtual ~Hook() = default;
  virtual bool wants_all_values() const { return false; }
  virtual void begin(HookContext&) {}
  virtual void before_execution(HookContext&) {}
  virtual void after_execution(HookContext&) {}
  virtual void end(HookContext&) {}
};

// last: the value of the last step before the line; all: the mean of all steps since the last line.
// While evaluating, both are the mean of all that is done.
enum class LoggingMode { last, all };

struct LoggingHookOptions {
  // Exactly one of the two, unless at_end is all that is wanted. Executions are counted, not steps;
  // the first one always logs.
  std::optional<int64_t> every_n_iter = {};
  std::optional<double> every_n_secs = {};
  bool at_end = false;
  LoggingMode mode = LoggingMode::last;
  // Makes the line; empty: "loss = 1.5, accuracy = 0.25 (0.520 sec)".
  std::function<std::string(const Logs&)> formatter = {};
  std::function<std::chrono::steady_clock::time_point()> clock = {};  // empty: the system's
};

// Writes lines of the values that a model function gave to log().
class LoggingHook : public Hook {
 public:
  // Throws InvalidArgument for options that contradict each other.
  explicit LoggingHook(LoggingHookOptions options);

  // In the model function, once: the names of values ("loss", a training metric). Unknown names are
  // an InvalidArgument when training begins, and so is a hook that log() was never called of.
  void log(std::vector<std::string> names);

  bool wants_all_values() const override { return options_.mode == LoggingMode::all; }
  void begin(HookContext& context) override;
  void after_execution(HookContext& context) override;
  void end(HookContext& context) override;

 private:
  std::chrono::steady_clock::time_point now() const;
  bool due() const;
  void forget();
  void add(const Logs& logs);
  void collect(const HookContext& context);
  void write(HookContext& context);

  LoggingHookOptions options_;
  std::vector<std::string> names_;
  int64_t executions_ = 0;  // since the last line
  bool written_ = false;
  std::chrono::steady_clock::time_point last_;
  std::vector<double> sums_;  // of the values since the last line, by name
  int64_t count_ = 0;
};

std::shared_ptr<LoggingHook> make_logging_hook(LoggingHookOptions options);

}  // namespace pando
