// SPDX-License-Identifier: MIT
#include "pando/datasets/tools/verify.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include "pando/data/parallel.h"
#include "pando/data/tfrecord/record_file.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/tools/verify_impl.h"

namespace pando {

namespace datasets {

void BadList::add(BadRecord record) {
  ++count_;
  if (kept_.size() < most_) kept_.push_back(std::move(record));
}

void BadList::append(BadList&& later) {
  count_ += later.count_;
  for (BadRecord& record : later.kept_) {
    if (kept_.size() < most_) kept_.push_back(std::move(record));
  }
}

void FileFindings::sample(int64_t label) {
  ++file.samples;
  if (label >= 0) ++labels[label];
}

void ReportBuilder::begin_part(const std::string& name, int64_t official, int64_t classes) {
  report_.parts.push_back({.name = name, .official = official});
  report_.parts.back().per_class.resize(static_cast<size_t>(classes));
}

void ReportBuilder::add(FileFindings&& findings, bool counted) {
  VerifiedPart& part = report_.parts.back();
  if (counted) part.samples += findings.file.samples;
  for (const auto& [label, count] : findings.labels) {
    if (label >= static_cast<int64_t>(part.per_class.size())) {
      part.per_class.resize(static_cast<size_t>(label) + 1);
    }
    part.per_class[static_cast<size_t>(label)] += count;
  }
  findings.file.part = part.name;
  if (options_.official && findings.file.origin == FileOrigin::other) {
    findings.flaw(0,
                  "not the official file: its checksum differs from the published one, which also "
                  "happens if the same data were compressed again");
  }
  findings.file.bad = findings.bad.count();
  bad_.append(std::move(findings.bad));
  report_.files.push_back(std::move(findings.file));
}

void ReportBuilder::deviation(const std::string& path, std::string text) {
  if (options_.official) {
    bad_.add({path, 0, std::move(text)});
  } else {
    note(std::move(text));
  }
}

void ReportBuilder::compare_counts(const std::string& path) {
  for (const VerifiedPart& part : report_.parts) {
    if (part.official == 0 || part.samples == part.official) continue;
    deviation(path, concat(part.name, ": ", part.samples, " good samples, ", part.official,
                           " in the official data set"));
  }
}

VerifyReport ReportBuilder::finish(const std::string& path) && {
  report_.path = path;
  compare_counts(path);
  for (const VerifiedFile& file : report_.files) {
    if (file.origin == FileOrigin::other)
      note(concat(file.path, ": not byte for byte the official file"));
  }
  if (bad_.count() == 0 && report_.samples() == 0) {
    bad_.add({path, 0, "expected at least one sample, found none"});
  }
  report_.bad_count = bad_.count();
  report_.bad = std::move(bad_.kept());
  return std::move(report_);
}

uint64_t size_of_file(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

BadRecord missing_file(const std::string& path, const std::string& remedy) {
  return {path, 0, concat("the file is missing; ", remedy)};
}

std::vector<FileFindings> check_files(const std::vector<std::string>& paths,
                                      const VerifyOptions& options, const FileCheck& check) {
  std::vector<FileFindings> all(paths.size(), FileFindings(options));
  data::for_each_item(paths.size(), options.workers, [&](size_t i) {
    FileFindings& findings = all[i];
    findings.file.path = paths[i];
    findings.file.bytes = size_of_file(paths[i]);
    try {
      check(paths[i], findings);
      findings.readable = true;
      if (options.origin_of) findings.file.origin = options.origin_of(paths[i]);
    } catch (const BadRecordError& error) {
      findings.bad.add(error.record());
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      findings.flaw(0, without_place(error.what(), paths[i]));
    }
  });
  return all;
}

namespace {

void check_example(std::span<const uint8_t> payload, uint64_t offset, FileFindings& findings,
                   const ExampleCheck& check) {
  try {
    findings.sample(check(Example(payload, "tf.train.Example")));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    findings.flaw(offset, concat("record at byte ", offset, ": ", error.what()));
  }
}

}  // namespace

void check_record_file(const std::string& path, FileFindings& findings, const ExampleCheck& check) {
  RecordReader reader(path);
  for (;;) {
    std::optional<std::span<const uint8_t>> payload;
    try {
      payload = reader.next();
    } catch (const BadRecordError& error) {
      BadRecord record = error.record();
      const bool lost = reader.next_offset() == reader.record_offset();
      if (lost) record.why += "; the records after it in the file cannot be found";
      findings.bad.add(std::move(record));
      if (lost) return;
      continue;
    }
    if (!payload) break;
    check_example(*payload, reader.record_offset(), findings, check);
  }
  if (reader.next_offset() == 0) findings.flaw(0, "the file is empty, expected records");
}

FileFindings findings_of_folder(const std::string& path, const VerifyOptions& options) {
  FileFindings findings(options);
  findings.file.path = path;
  findings.file.is_folder = true;
  return findings;
}

VerifyReport verify_parts(const std::string& path, const VerifyOptions& options,
                          const PartCheck& verify) {
  ReportBuilder builder(options);
  try {
    for (const PartFolder& part : part_folders(path)) {
      builder.begin_part(part.name, 0, 0);
      verify(part, builder);
    }
  } catch (const IoError& error) {
    builder.add_bad({path, 0, without_place(error.what(), path)});
  }
  return std::move(builder).finish(path);
}

}  // namespace datasets

int64_t VerifyReport::samples() const {
  return std::accumulate(parts.begin(), parts.end(), int64_t{0},
                         [](int64_t sum, const VerifiedPart& part) { return sum + part.samples; });
}

uint64_t VerifyReport::bytes() const {
  return std::accumulate(files.begin(), files.end(), uint64_t{0},
                         [](uint64_t sum, const VerifiedFile& file) { return sum + file.bytes; });
}

VerifyReport verify_dataset(const std::string& format, const std::string& path,
                            const VerifyOptions& options) {
  const DatasetRecord& found = dataset_record(format);
  if (options.workers < 1) {
    throw InvalidArgument("verify: ", options.workers, " workers, expected at least 1");
  }
  std::error_code error;
  VerifyReport report;
  if (found.files.empty() || std::filesystem::exists(path, error)) {
    report = found.verify(path, options);
  } else {
    datasets::ReportBuilder builder(options);
    builder.add_bad({path, 0, "no such file or folder"});
    report = std::move(builder).finish(path);
  }
  report.format = found.name;
  return report;
}

}  // namespace pando
