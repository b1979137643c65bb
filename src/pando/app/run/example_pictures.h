// Pictures of the validation data that an export has beside the model, for people who try it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "pando/app/flags/data_flags.h"
#include "pando/app/run/export_version.h"
#include "pando/train/model_facts.h"

namespace pando::app {

// At most `count` pictures of eight bits, not augmented, of different classes where there are as
// many, named by their classes. Pictures above kMostExampleBytes are left out. Downloads nothing.
// Throws UsageError if the data are not on this machine, Unsupported for other data than pictures
// of bytes, IoError. Requires: count <= kMostExamples.
std::vector<ExamplePicture> example_pictures(const DataFlags& data, const ModelFacts& facts,
                                             int64_t count);

}  // namespace pando::app
