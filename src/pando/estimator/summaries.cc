// SPDX-License-Identifier: MIT
#include "pando/estimator/summaries.h"

#include "pando/base/error.h"

namespace pando::estimator {

bool StepTimer::due(int64_t step) {
  if (steps_ == 0 || (last_ && step - *last_ < steps_)) return false;
  last_ = step;
  return true;
}

store::EventFile& Summaries::file() {
  if (file_) return *file_;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    throw IoError("summaries: cannot create the folder ", folder_.string(), ": ", error.message());
  }
  file_.emplace(folder_);
  if (step_ > 0) file_->restart(step_);
  return *file_;
}

void Summaries::write(int64_t step, const Logs& values) { file().add_scalars(step, values); }

void Summaries::write_text(int64_t step, const std::string& tag, const std::string& text) {
  file().add_text(step, tag, text);
}

}  // namespace pando::estimator
