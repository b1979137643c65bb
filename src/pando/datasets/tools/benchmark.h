// Measures how fast samples come out of a data set, stage by stage: each measurement does all the
// work up to its stage, the last one makes batches as training does.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pando {

struct DataBenchmarkOptions {
  int workers = 1;     // every stage is measured with one thread and with this many
  double seconds = 2;  // for each measurement, after a warm-up
  int64_t batch_size = 64;
  uint64_t seed = 0;  // of the order and the augmentation
};

// One measurement. Bytes are those that go into the stage itself and those that come out of it.
struct StageRate {
  std::string stage;  // "read", "check", "parse", "decode", "gather", "augment", "batch"
  std::string what;   // what it does, in a few words
  int workers = 1;
  int64_t samples = 0;
  double seconds = 0;
  double bytes_in = 0;
  double bytes_out = 0;
  double share = 0;           // of the time of the whole pipeline with as many workers
  bool memory_bound = false;  // moves most of the bytes that plain copies do in that time

  double samples_per_second() const { return static_cast<double>(samples) / seconds; }
  double ms_per_sample() const { return 1e3 * seconds / static_cast<double>(samples); }
  double in_per_second() const { return bytes_in / seconds; }
  double out_per_second() const { return bytes_out / seconds; }
};

// How many bytes a second threads read and write when they copy more memory than the caches hold.
struct CopyRate {
  int workers = 1;
  double bytes_per_second = 0;
};

struct DataBenchmarkReport {
  std::string format;
  std::string path;
  int64_t samples = 0;            // in the data set
  int64_t batch_size = 0;         // at most all samples
  std::vector<StageRate> stages;  // in the order of the pipeline, one worker first
  std::vector<CopyRate> copies;
};

// `format` is a name of all_datasets(). Reads the training part again and again: what fits into
// memory comes from the page cache. Throws InvalidArgument for an unknown format or invalid
// options, IoError for files that are missing or bad.
DataBenchmarkReport benchmark_dataset(const std::string& format, const std::string& path,
                                      const DataBenchmarkOptions& options = {});

}  // namespace pando
