// The result of the loaders of well-known data sets.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/data/dataset.h"

namespace pando {

struct TrainTest {
  Dataset train;
  Dataset test;
  int64_t classes = 0;
};

}  // namespace pando
