// Figures of a run for TensorBoard and as lines: when they fall due, and where they go.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "pando/store/event_file.h"
#include "pando/train/history.h"

namespace pando::estimator {

// Due at the first asking, then when `steps` more are done. 0 steps: never.
class StepTimer {
 public:
  explicit StepTimer(int64_t steps) : steps_(steps) {}
  bool due(int64_t step);

 private:
  int64_t steps_;
  std::optional<int64_t> last_;
};

// The event file of a folder, opened when there is something to write. A folder that has none yet
// is made. Throws IoError.
class Summaries {
 public:
  // What earlier files have from `step` on is forgotten.
  Summaries(std::filesystem::path folder, int64_t step) : folder_(std::move(folder)), step_(step) {}

  void write(int64_t step, const Logs& values);
  void write_text(int64_t step, const std::string& tag, const std::string& text);

 private:
  store::EventFile& file();

  std::filesystem::path folder_;
  int64_t step_;
  std::optional<store::EventFile> file_;
};

}  // namespace pando::estimator
