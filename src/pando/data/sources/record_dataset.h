// A data set that was read from files of records, and what was left out of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/data/bad_records.h"
#include "pando/data/dataset.h"

namespace pando {

struct RecordDataset {
  Dataset data;
  std::vector<BadRecord> skipped;  // only with OnBadRecord::skip
};

}  // namespace pando
