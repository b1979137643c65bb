// The stages of record files. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "pando/datasets/tools/pipeline_impl.h"
#include "pando/datasets/tools/record_pieces_impl.h"

namespace pando::datasets {

using PiecesPtr = std::shared_ptr<const RecordPieces>;

// Reads, checks and parses the records.
Pipeline record_pipeline(const PiecesPtr& pieces);

}  // namespace pando::datasets
