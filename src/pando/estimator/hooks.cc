// SPDX-License-Identifier: MIT
#include "pando/estimator/hooks.h"

#include <algorithm>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando {

LoggingHook::LoggingHook(LoggingHookOptions options) : options_(std::move(options)) {
  const int given = (options_.every_n_iter ? 1 : 0) + (options_.every_n_secs ? 1 : 0);
  if (given == 2 || (given == 0 && !options_.at_end)) {
    throw InvalidArgument(
        "LoggingHook: expected exactly one of every_n_iter and every_n_secs, or at_end, got ",
        given == 2 ? "both" : "none");
  }
  if (options_.every_n_iter && *options_.every_n_iter < 1) {
    throw InvalidArgument("LoggingHook: every_n_iter: expected at least 1, got ",
                          *options_.every_n_iter);
  }
  if (options_.every_n_secs && !(*options_.every_n_secs >= 0)) {
    throw InvalidArgument("LoggingHook: every_n_secs: expected at least 0, got ",
                          *options_.every_n_secs);
  }
}

void LoggingHook::log(std::vector<std::string> names) {
  if (!names_.empty()) {
    throw InvalidArgument(
        "LoggingHook: log() was called twice; a hook logs one list of values, so make a new hook "
        "in each call of the model function");
  }
  if (names.empty()) throw InvalidArgument("LoggingHook: log() needs at least one name");
  names_ = std::move(names);
}

void LoggingHook::begin(HookContext& context) {
  if (names_.empty()) {
    throw InvalidArgument(
        "LoggingHook: log() was not called; call it with names of values in the model function");
  }
  for (const std::string& name : names_) {
    if (std::ranges::find(context.names, name) == context.names.end()) {
      throw InvalidArgument(unknown_name_message("value", name, context.names));
    }
  }
  forget();
  executions_ = 0;
  written_ = false;
  last_ = now();
}

std::chrono::steady_clock::time_point LoggingHook::now() const {
  return options_.clock ? options_.clock() : std::chrono::steady_clock::now();
}

bool LoggingHook::due() const {
  if (!options_.every_n_iter && !options_.every_n_secs) return false;
  if (!written_) return true;
  if (options_.every_n_iter) return executions_ >= *options_.every_n_iter;
  return std::chrono::duration<double>(now() - last_).count() >= *options_.every_n_secs;
}

void LoggingHook::forget() {
  sums_.assign(names_.size(), 0);
  count_ = 0;
}

void LoggingHook::add(const Logs& logs) {
  for (size_t i = 0; i < names_.size(); ++i) {
    sums_[i] += find_value(logs, names_[i]).value_or(0);
  }
  ++count_;
}

void LoggingHook::collect(const HookContext& context) {
  if (context.values == nullptr) {  // evaluation: means of all executions so far
    forget();
    if (!context.logs.empty()) add(context.logs);
    return;
  }
  int64_t last_step = -1;
  for (const StepValues& entry : *context.values) last_step = std::max(last_step, entry.step);
  if (options_.mode == LoggingMode::last) forget();
  for (const StepValues& entry : *context.values) {
    if (options_.mode == LoggingMode::all || entry.step == last_step) add(entry.logs);
  }
}

void LoggingHook::write(HookContext& context) {
  if (count_ == 0) return;
  Logs values;
  for (size_t i = 0; i < names_.size(); ++i) {
    values.emplace_back(names_[i], sums_[i] / static_cast<double>(count_));
  }
  std::string line;
  if (options_.formatter) {
    line = options_.formatter(values);
  } else {
    std::vector<std::string> parts;
    for (const auto& value : values) {
      parts.push_back(fmt::format("{} = {:.6g}", value.first, value.second));
    }
    line = join(parts, ", ");
    const std::chrono::duration<double> since = now() - last_;
    if (written_) line += fmt::format(" ({:.3f} sec)", since.count());
  }
  context.tell(line);
  written_ = true;
  last_ = now();
  executions_ = 0;
  forget();
}

void LoggingHook::after_execution(HookContext& context) {
  collect(context);
  ++executions_;
  if (due()) write(context);
}

void LoggingHook::end(HookContext& context) {
  if (options_.at_end) write(context);
}

std::shared_ptr<LoggingHook> make_logging_hook(LoggingHookOptions options) {
  return std::make_shared<LoggingHook>(std::move(options));
}

}  // namespace pando
