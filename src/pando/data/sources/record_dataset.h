// A data set that was read from files of records, and what was left out of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "pando/data/bad_records.h"
#include "pando/data/dataset.h"

namespace pando {

struct RecordDataset {
  Dataset data;
  std::vector<BadRecord> skipped;  // only with OnBadRecord::skip
  // The samples of each file, which follow one another in `data`; stream_records() needs it.
  std::vector<int64_t> records_per_file;
};

}  // namespace pando
