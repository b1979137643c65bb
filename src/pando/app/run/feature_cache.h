// Features that are computed once: while layers are frozen and samples do not change, what the
// frozen layers give for each sample is kept, and only the layers behind them run in every epoch.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "pando/app/run/training_setup.h"

namespace pando::app {

// Computes the features for a run that will train `epochs` epochs with frozen layers, and makes the
// model start behind them. What does not fit in memory goes into files in `folder`. Returns a line
// that says what is kept, or why nothing is kept. The line is empty if no layer is frozen or the
// flags switch this off.
std::string keep_features(TrainingSetup& setup, int64_t epochs,
                          const std::filesystem::path& folder);

}  // namespace pando::app
