// The order in which a stream of record files would give its samples: files are interleaved, then
// pass through a shuffle buffer. Here it is computed on indices, so that the position in a stream
// is a number and nothing depends on the number of workers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "pando/data/sources/record_dataset.h"

namespace pando {

struct StreamOptions {
  uint64_t seed = 0;
  bool shuffle = true;     // the files and, in the buffer, the records; false: files as they come
  bool each_epoch = true;  // shuffled anew in every epoch; false: one order for all
  int64_t cycle = 4;       // files that are open at once; they take turns
  int64_t block = 4;       // records taken from a file in its turn
  int64_t buffer = 10000;  // records that wait; the next is any one of them. Only with shuffle.
  // Of `shards` streams this one has files shard, shard + shards, ...: no record is in two.
  int64_t shards = 1;
  int64_t shard = 0;
};

// The records of these files as a stream gives them. What comes when is a pure function of (seed,
// epoch, options, records per file); each record comes once per epoch, at most `buffer` - 1 places
// before its place in the interleaved files, and files are read nearly in sequence. The samples
// keep the index they had for random augmentations. Throws InvalidArgument for options that
// describe no stream, shards without a file and a set whose records_per_file do not add up to its
// size.
Dataset stream_records(const RecordDataset& records, const StreamOptions& options = {});

namespace data {

// The order of one epoch: sample indices of the files of the shard, in the order of the stream.
std::vector<int64_t> stream_order(const std::vector<int64_t>& records_per_file,
                                  const StreamOptions& options, int64_t epoch);

}  // namespace data
}  // namespace pando
