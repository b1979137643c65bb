// Reads every byte of a data set and reports everything that is wrong with it.
//
//   const VerifyReport report = verify_dataset("cifar10", folder, {.workers = 8});
//   if (!report.good()) std::cout << to_string(report.bad[0]);
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pando/data/bad_records.h"
#include "pando/data/image/decode.h"
#include "pando/fetch/origin.h"

namespace pando {

struct VerifyOptions {
  int workers = 1;        // threads; the report is the same for any number
  size_t most_bad = 100;  // how many bad records are listed; the others are counted
  bool official = false;  // other counts and other files than the official ones are bad, too
  DecodeLimits limits = {};
  std::function<FileOrigin(const std::string& path)> origin_of;  // may be empty
};

// A file; for sets with a file per sample, the folder of them.
struct VerifiedFile {
  std::string path;
  bool is_folder = false;
  std::string part;     // "train", "test", "validation"
  uint64_t bytes = 0;   // on the disk
  int64_t samples = 0;  // good ones
  int64_t bad = 0;      // bad records in it
  FileOrigin origin = FileOrigin::unknown;
};

struct VerifiedPart {
  std::string name;
  int64_t samples = 0;             // good ones
  int64_t official = 0;            // how many the official set has; 0: there is no official set
  std::vector<int64_t> per_class;  // of good samples; empty where there are no classes
};

struct VerifyReport {
  std::string format;
  std::string path;
  std::vector<VerifiedPart> parts;
  std::vector<VerifiedFile> files;
  std::vector<std::string> classes;  // names, where they are known
  std::string counted = "samples";   // by class: "samples" or "pixels"
  std::vector<BadRecord> bad;        // in the order of the files, the first `most_bad`
  int64_t bad_count = 0;
  std::vector<std::string> notes;  // worth knowing, not wrong

  bool good() const { return bad_count == 0; }
  int64_t samples() const;
  uint64_t bytes() const;
};

// `format` is a name of all_datasets(). The report lists files that are missing, cannot be read or
// are damaged, each with the place; reading continues after a bad record where possible. Throws
// InvalidArgument for an unknown format or invalid options.
VerifyReport verify_dataset(const std::string& format, const std::string& path,
                            const VerifyOptions& options = {});

}  // namespace pando
