// The order in which a stream of record files would yield its samples: files are interleaved, then
// their records pass through a shuffle buffer. The order is computed on indices, so that the
// position in a stream is a number and nothing depends on the number of workers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "pando/data/sources/record_dataset.h"

namespace pando {

struct StreamOptions {
  uint64_t seed = 0;
  bool shuffle = true;     // shuffles files and, in the buffer, records; false: keeps their order
  bool each_epoch = true;  // shuffled anew in every epoch; false: one order for all
  int64_t cycle = 4;       // files that are open at once; they take turns
  int64_t block = 4;       // records taken from a file in its turn
  int64_t buffer = 10000;  // size of the shuffle buffer in records; only with shuffle
  // This stream reads files shard, shard + shards, ...; no record is in two of `shards` streams.
  int64_t shards = 1;
  int64_t shard = 0;
};

// The records of these files in the order of a stream. The order is a pure function of (seed,
// epoch, options, records per file); each record occurs once per epoch, at most `buffer` - 1 places
// before its place in the interleaved files, and files are read nearly in sequence. For random
// augmentations the samples keep the index that they had before. Throws InvalidArgument for invalid
// options, for a shard without a file, and if records_per_file does not add up to the size of the
// set.
Dataset stream_records(const RecordDataset& records, const StreamOptions& options = {});

namespace data {

// The order of one epoch: sample indices of the files of the shard, in the order of the stream.
std::vector<int64_t> stream_order(const std::vector<int64_t>& records_per_file,
                                  const StreamOptions& options, int64_t epoch);

}  // namespace data
}  // namespace pando
