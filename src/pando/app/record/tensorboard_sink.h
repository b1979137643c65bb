// Writes the rows of a history and histograms of weights to event files of TensorBoard.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "pando/app/record/row_sink.h"
#include "pando/options/fraction.h"
#include "pando/store/event_file.h"
#include "pando/train/callback.h"

namespace pando {
class Model;
}

namespace pando::app {

struct TensorBoardOptions {
  std::filesystem::path folder;
  std::string config_text;              // shown under "configuration"; empty: none
  std::optional<int64_t> resumed_step;  // TensorBoard drops later rows of older files
  store::EventFileOptions file = {};
};

// Tags are grouped: loss/train and loss/validation. Used by one thread.
class TensorBoardSink : public RowSink {
 public:
  explicit TensorBoardSink(const TensorBoardOptions& options);

  void write(const HistoryRow& row) override;
  // Writes one histogram for every weight of the model, under its name.
  void write_histograms(int64_t step, const Model& model);

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  store::EventFile file_;
};

struct HistogramPlan {
  Fraction per_epoch;
  int64_t updates_per_epoch = 1;
  int64_t steps_per_update = 1;  // micro-batches of all replicas
};

// Writes histograms at the ends of executions, as often as the plan says. The sink must outlive the
// callback.
std::shared_ptr<Callback> histogram_callback(TensorBoardSink& sink, const HistogramPlan& plan);

}  // namespace pando::app
