// Shared by the checks of single formats. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pando/data/tfrecord/example.h"
#include "pando/datasets/tools/places_impl.h"
#include "pando/datasets/tools/verify.h"

namespace pando::datasets {

// Bad records in the order they were found: the first ones kept, all counted.
class BadList {
 public:
  explicit BadList(size_t most) : most_(most) {}

  void add(BadRecord record);
  void append(BadList&& later);
  int64_t count() const { return count_; }
  std::vector<BadRecord>& kept() { return kept_; }

 private:
  size_t most_;
  int64_t count_ = 0;
  std::vector<BadRecord> kept_;
};

// The results of reading one file. Used by one thread.
struct FileFindings {
  explicit FileFindings(const VerifyOptions& options) : bad(options.most_bad) {}

  // A bad record of this file.
  void flaw(uint64_t offset, std::string why) { bad.add({file.path, offset, std::move(why)}); }
  // A good sample with its class; -1 for none.
  void sample(int64_t label);

  VerifiedFile file;
  bool readable = false;                    // the file as a whole; it may have bad records
  std::map<int64_t, int64_t> labels;        // how many samples, or pixels, of each
  std::map<std::string, int64_t> features;  // of examples: how many have it
  BadList bad;
};

// Puts the findings of files together. Used by one thread.
class ReportBuilder {
 public:
  explicit ReportBuilder(const VerifyOptions& options)
      : options_(options), bad_(options.most_bad) {}

  // Begins a part; parts are listed in this order. `official`: how many samples the official set
  // has, 0: there is no official set.
  void begin_part(const std::string& name, int64_t official, int64_t classes);
  // A file of the part begun last. `counted` is false where another file has the same samples.
  void add(FileFindings&& findings, bool counted = true);
  void add_bad(BadRecord record) { bad_.add(std::move(record)); }
  // A difference from the official data set: a note or, with VerifyOptions::official, a bad record.
  void deviation(const std::string& path, std::string text);
  void note(std::string text) { report_.notes.push_back(std::move(text)); }
  void set_classes(std::vector<std::string> names) { report_.classes = std::move(names); }
  void set_counted(std::string what) { report_.counted = std::move(what); }

  VerifyReport finish(const std::string& path) &&;

 private:
  void compare_counts(const std::string& path);

  const VerifyOptions& options_;
  VerifyReport report_;
  BadList bad_;
};

// The size of a file; 0 when it cannot be known.
uint64_t size_of_file(const std::string& path);
// A missing file as a bad record.
BadRecord missing_file(const std::string& path, const std::string& remedy);

// Runs `check` for all paths on the workers and returns their findings in order. An Error that
// `check` throws is a flaw of its file.
using FileCheck = std::function<void(const std::string& path, FileFindings& findings)>;
std::vector<FileFindings> check_files(const std::vector<std::string>& paths,
                                      const VerifyOptions& options, const FileCheck& check);

// Reads all records of a file: their framing, crcs and examples. `check` looks at an example,
// throws an Error if it is bad, and returns the class, -1 for none.
using ExampleCheck = std::function<int64_t(const Example& example)>;
void check_record_file(const std::string& path, FileFindings& findings, const ExampleCheck& check);

// The findings about a folder.
FileFindings findings_of_folder(const std::string& path, const VerifyOptions& options);

// Calls `verify` for each part of a folder, after its part of the report has begun.
using PartCheck = std::function<void(const PartFolder& part, ReportBuilder& builder)>;
VerifyReport verify_parts(const std::string& path, const VerifyOptions& options,
                          const PartCheck& verify);

}  // namespace pando::datasets
