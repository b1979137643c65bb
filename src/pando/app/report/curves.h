// Draws loss and accuracy over the epochs of a run.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pando/app/record/history_writer.h"

namespace pando::app {

// Loss and accuracy of training and validation, as SVG.
std::string history_svg(const std::vector<HistoryRow>& rows);

// Draws the history.json of a run directory into its curves.svg. Throws IoError.
void write_curves(const std::filesystem::path& run_directory);

}  // namespace pando::app
