// Samples made by the user's function instead of being stored.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/data/dataset.h"

namespace pando::data {

// Throws InvalidArgument for a negative size; a set without samples has one empty field "x".
SourcePtr made_by(int64_t size, std::function<Sample(int64_t)> make);
SourcePtr filled_by(int64_t size, std::vector<Field> fields,
                    std::function<void(const SampleView&)> fill);

}  // namespace pando::data
