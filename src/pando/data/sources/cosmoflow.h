// CosmoFlow: volumes of simulated universes with the parameters they were simulated with. A folder
// holds one sample per .tfrecord file, plain or compressed: a tf.train.Example with x, the bytes of
// little-endian int16 counts, and y, the parameters as floats.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "pando/data/sources/record_dataset.h"
#include "pando/data/tfrecord/compression.h"
#include "pando/tensor/shape.h"

namespace pando {

struct CosmoflowDataOptions {
  Shape shape = {128, 128, 128, 4};  // [depth, height, width, channels] of x
  int64_t targets = 4;               // how many parameters
  bool apply_log = true;             // x becomes log(x + 1), otherwise x / mean(x)
  OnBadRecord on_bad_record = OnBadRecord::error;
};

// All files *.tfrecord of a folder, in the order of their names, with the fields x f32 of `shape`
// and y f32 [targets]. Files are read when their samples are gathered: nothing is kept in memory.
// A file without exactly one record, with a wrong crc, another number of bytes or values, a
// negative count, a volume without a count (where the mean is needed) or a target that is not
// finite is a BadRecordError. With OnBadRecord::skip all files are read once here.
// Throws IoError when the folder or files in it are missing.
RecordDataset open_cosmoflow(const std::string& folder, const CosmoflowDataOptions& options = {});

// One sample as a file. Throws IoError.
struct CosmoflowSample {
  std::span<const int16_t> x;
  std::span<const float> y;
};
void write_cosmoflow_sample(const std::string& path, const CosmoflowSample& sample,
                            Compression compression = Compression::gzip);

struct MakeCosmoflowOptions {
  int64_t train = 64;
  int64_t validation = 16;
  Shape shape = {32, 32, 32, 4};
  Compression compression = Compression::gzip;
  uint64_t seed = 0;
};

// Writes <folder>/train and <folder>/validation with made-up volumes whose four targets, uniform
// in [-1, 1], can be learned; every file is a pure function of (seed, part, number, shape). With
// the targets t0 to t3, a voxel counts about
//   16 * 2^t0                                    how much there is
//   * ((1 - c) + c * blobs), c = 0.5 + 0.45 t1   how much of it is in blobs
//   * (1 + 0.7 t2 * z), z from -1 to 1           where it is, along the depth
//   * (1 + 0.5 t3 * k), k from -1 to 1           in which channels it is
// with noise whose deviation is the square root of the mean, as in counting. Throws
// InvalidArgument for a shape without four axes, IoError.
void make_cosmoflow(const std::string& folder, const MakeCosmoflowOptions& options = {});

}  // namespace pando
