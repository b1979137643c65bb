// What the loaders of the well-known data sets give.
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
