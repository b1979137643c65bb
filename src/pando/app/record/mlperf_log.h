// Writes lines in the format of the MLPerf benchmarks, which their checkers find in a log:
//   :::MLLOG {"namespace": "", "time_ms": 1700000000000, "event_type": "POINT_IN_TIME",
//             "key": "eval_accuracy", "value": 0.761, "metadata": {"epoch_num": 40.0}}
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pando/train/callback.h"

namespace pando::app {

using MlperfValue = std::variant<std::monostate, int64_t, double, std::string>;
using MlperfMetadata = std::vector<std::pair<std::string, MlperfValue>>;

// Milliseconds since 1970.
int64_t wall_clock_ms();

// Used by one thread.
class MlperfLog {
 public:
  // Passes each line to `write`. If `write` is null, the log is off and all calls do nothing.
  explicit MlperfLog(std::function<void(const std::string&)> write,
                     std::function<int64_t()> clock_ms = wall_clock_ms);

  bool on() const { return write_ != nullptr; }
  void event(const std::string& key, const MlperfValue& value, const MlperfMetadata& metadata = {});
  // The keys of an interval are "<name>_start" and "<name>_stop".
  void start(const std::string& name, const MlperfMetadata& metadata = {});
  void stop(const std::string& name, const MlperfMetadata& metadata = {});
  // Writes the start of an interval that began before this log existed.
  void started_at(int64_t time_ms, const std::string& name);

 private:
  struct Line {
    int64_t time_ms = 0;
    const char* type = "";
    std::string key;
    MlperfValue value;
    MlperfMetadata metadata;
  };
  void write(const Line& line) const;

  std::function<void(const std::string&)> write_;
  std::function<int64_t()> clock_ms_;
};

// Logs the start and end of every epoch. The log must outlive it.
class MlperfEpochs : public Callback {
 public:
  explicit MlperfEpochs(MlperfLog& log) : log_(log) {}
  void on_epoch_begin(FitContext& context) override;
  void on_epoch_end(FitContext& context, const Logs& logs) override;

 private:
  MlperfLog& log_;
};

}  // namespace pando::app
