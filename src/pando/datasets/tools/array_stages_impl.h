// The stages of arrays in memory. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "pando/datasets/tools/pipeline_impl.h"

namespace pando::datasets {

double bytes_of(const Dataset& dataset);  // of a sample
int64_t block_of(const Dataset& dataset, const DataBenchmarkOptions& options);

// Gathers blocks of samples in a shuffled order. `in`: bytes of a sample before the stage.
Stage gather_stage(std::string name, std::string what, const Dataset& dataset, double in,
                   int64_t block);

// A pipeline of blocks that has no stages yet.
Pipeline array_pipeline(const Dataset& shuffled, int64_t block);

}  // namespace pando::datasets
