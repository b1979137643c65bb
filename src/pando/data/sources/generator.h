// Samples that a user's generator makes one after the other.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/data/dataset.h"

namespace pando::data {

// Throws InvalidArgument for a size out of range, and for a generator without a sample.
SourcePtr generated(GeneratorStart begin, const GeneratorOptions& options);

}  // namespace pando::data
