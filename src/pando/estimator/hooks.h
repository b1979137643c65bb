// Hooks: user code that an estimator calls at the start and end of a run and between executions.
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

// What a hook may read and set. Valid during the call.
struct HookContext {
  RunMode mode = RunMode::train;
  // Steps since the first training of the model; in evaluation and prediction, those of the
  // checkpoint.
  int64_t global_step = 0;
  int64_t steps = 0;  // number of steps of the execution that just ended
  // Means of the execution that just ended over steps and replicas, the loss first; in evaluation,
  // means of all executions so far.
  Logs logs = {};
  // In training: the values of each step and replica; only those of the last step unless a hook
  // wants_all_values().
  const std::vector<StepValues>* values = nullptr;
  std::vector<std::string> names = {};  // names of all values that can be logged
  double seconds = 0;                   // since the start of the run
  // Set it to end the run after this execution. Training then saves a checkpoint. An evaluation
  // still runs to its end, since results of a part of the data would look like results of all.
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
// In evaluation, both are the mean of all executions so far.
enum class LoggingMode { last, all };

struct LoggingHookOptions {
  // Set exactly one of the two, or only at_end. Executions are counted, not steps; the first
  // execution always logs.
  std::optional<int64_t> every_n_iter = {};
  std::optional<double> every_n_secs = {};
  bool at_end = false;
  LoggingMode mode = LoggingMode::last;
  // Makes the line; empty: "loss = 1.5, accuracy = 0.25 (0.520 sec)".
  std::function<std::string(const Logs&)> formatter = {};
  std::function<std::chrono::steady_clock::time_point()> clock = {};  // empty: the system's clock
};

// Writes lines with the values that a model function passed to log().
class LoggingHook : public Hook {
 public:
  // Throws InvalidArgument for options that contradict each other.
  explicit LoggingHook(LoggingHookOptions options);

  // Call it once, in the model function, with names of values ("loss", a training metric). Unknown
  // names throw InvalidArgument when training begins, and so does a hook without a call of log().
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
