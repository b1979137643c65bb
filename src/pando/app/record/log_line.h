// The lines that a run prints for log events and, at its start, for its configuration.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/app/record/history_writer.h"

namespace pando::app {

// Extra columns of the history that a log line shows.
inline constexpr const char* kMemoryColumn = "memory_mib";           // resident, of the process
inline constexpr const char* kMemoryShareColumn = "memory_percent";  // of the machine
inline constexpr const char* kLossScalingColumn = "loss_scaling_factor";  // if it is automatic

// Adds the memory that the process uses now.
void add_memory(HistoryRow& row);

// "3.0" after whole epochs, "2.9328" within one.
std::string epoch_text(double epoch);

// "epoch 1.0: loss: 0.4721, training accuracy: 82.81 %, throughput: 17687 samples/sec, learning
// rate: 0.01, memory: 812 MiB (3.4 %)". Unknown values of the row are left out. Loss and
// throughput have no exponent, because programs search for `loss: *(\d*\.\d*)`.
std::string log_line(const HistoryRow& row);

// "validation epoch 1.0: accuracy: 82.79 %, loss: 0.4762"
std::string validation_line(const HistoryRow& row);

// "hyper-parameters: {model: mnist_cnn, ...}" from the text of config.yml.
std::string hyper_parameters_line(const std::string& config_text);

}  // namespace pando::app
