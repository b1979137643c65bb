// Writes figures of a run for TensorBoard, and decides when figures are due.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "pando/store/event_file.h"
#include "pando/train/history.h"

namespace pando::estimator {

// Due at the first call, then after at least `steps` more steps. 0 steps: never.
class StepTimer {
 public:
  explicit StepTimer(int64_t steps) : steps_(steps) {}
  bool due(int64_t step);

 private:
  int64_t steps_;
  std::optional<int64_t> last_;
};

// The event file of a folder, opened on the first write, which also creates the folder if needed.
// Throws IoError.
class Summaries {
 public:
  // Entries of earlier files from `step` on are discarded.
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
