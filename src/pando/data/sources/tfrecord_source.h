// Record files of tf.train.Example as a data set with random access.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pando/data/sources/record_dataset.h"
#include "pando/data/tfrecord/example.h"
#include "pando/data/tfrecord/record_file.h"

namespace pando {

struct TfrecordOptions {
  std::vector<Field> fields;  // the fields of one sample
  // Writes an example into a sample of zeros; throws an Error if it cannot. Several threads call it
  // at once.
  std::function<void(const Example& example, const SampleView& sample)> decode;
  OnBadRecord on_bad_record = OnBadRecord::error;
  // OnBadRecord::skip calls it for every record; useful if decode reads only a part of a record. If
  // it is empty, skip calls decode, with epoch 0 and the number of the record as the index.
  std::function<void(const Example& example)> check = {};
  uint64_t most_record_bytes = kMostRecordBytes;
  int workers = 1;           // threads that read the files when they are opened
  std::string index_folder;  // keeps indices of the records, for quick opening; "": none
};

// The records of all files, one after the other. One pass over the headers finds them and checks
// their crcs; the crc of a payload is checked whenever it is gathered, and a bad one is a
// BadRecordError with file and offset. With OnBadRecord::skip every record is read and decoded once
// here, and those that fail are left out and listed; if the end of a bad record is unknown, the
// rest of its file is left out, too.
//
// Throws IoError when a file is missing, compressed (there is no random access to it), damaged in a
// header (unless skipped) or when there is no record at all; InvalidArgument for invalid options.
// All results are the same for any number of workers.
RecordDataset open_tfrecords(const std::vector<std::string>& paths, const TfrecordOptions& options);

}  // namespace pando
