// Creates the sinks that the flags of a run ask for.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/flags/logging_flags.h"
#include "pando/app/record/tensorboard_sink.h"

namespace pando::app {

struct SinkRequest {
  std::filesystem::path folder;  // the run directory
  std::string model;
  std::string dataset;
  std::string config_text;
  std::optional<int64_t> resumed_step;
};

struct RowSinks {
  std::vector<std::unique_ptr<RowSink>> all;
  TensorBoardSink* tensorboard = nullptr;  // the one in `all`, or null
  std::vector<std::string> notes;          // lines to show to the user
};

RowSinks make_row_sinks(const LoggingFlags& flags, const SinkRequest& request);

}  // namespace pando::app
