// Who else wants to know what the history of a run gets: event files, records of experiments.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/app/record/history_writer.h"
#include "pando/train/history.h"

namespace pando::app {

// Called by one thread, after the row is in the history. Throws IoError when it cannot write.
class RowSink {
 public:
  RowSink() = default;
  virtual ~RowSink() = default;
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;

  virtual void write(const HistoryRow& row) = 0;
  // Figures of the whole run, at its end: the best accuracy, say.
  virtual void summarize(const Logs&) {}
};

}  // namespace pando::app
