// Receives a copy of every history row: event files of TensorBoard, records of experiments.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/app/record/history_writer.h"
#include "pando/train/history.h"

namespace pando::app {

// Called by one thread, after the row is in the history. Throws IoError if writing fails.
class RowSink {
 public:
  RowSink() = default;
  virtual ~RowSink() = default;
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;

  virtual void write(const HistoryRow& row) = 0;
  // Receives figures of the whole run at its end, such as the best accuracy.
  virtual void summarize(const Logs&) {}
};

}  // namespace pando::app
