// Record files of tf.train.Example in general. They can be verified and measured; the meaning of
// their features is unknown.
// SPDX-License-Identifier: MIT
#include <map>
#include <utility>

#include "pando/base/error.h"
#include "pando/datasets/records_impl.h"
#include "pando/datasets/tools/places_impl.h"
#include "pando/datasets/tools/record_stages_impl.h"
#include "pando/datasets/tools/show_impl.h"
#include "pando/datasets/tools/verify_impl.h"

namespace pando::datasets {

namespace {

VerifyReport verify_tfrecord(const std::string& path, const VerifyOptions& options) {
  ReportBuilder builder(options);
  builder.begin_part("all", 0, 0);
  std::vector<std::string> paths;
  try {
    paths = record_files(path);
  } catch (const IoError& error) {
    builder.add_bad({path, 0, without_place(error.what(), path)});
  }
  for (const std::string& shard : missing_shards(paths)) {
    builder.add_bad(missing_file(shard, "expected all files of the set"));
  }
  std::vector<FileFindings> all =
      check_files(paths, options, [](const std::string& file, FileFindings& findings) {
        check_record_file(file, findings, [&](const Example& example) {
          for (const std::string& key : example.keys()) {
            ++findings.features[concat("'", key, "' ", to_string(example.kind(key)))];
          }
          return -1;
        });
      });
  std::map<std::string, int64_t> features;
  for (FileFindings& findings : all) {
    for (const auto& [feature, count] : findings.features) features[feature] += count;
    builder.add(std::move(findings));
  }
  for (const auto& [feature, count] : features) {
    builder.note(concat("feature ", feature, " in ", count, count == 1 ? " record" : " records"));
  }
  return std::move(builder).finish(path);
}

Pipeline tfrecord_pipeline(const std::string& path, const DataBenchmarkOptions&) {
  return record_pipeline(find_pieces(record_files(path)));
}

Showing show_tfrecord(const std::string& path, const ShowOptions&) {
  throw Unsupported(
      "show: ", path,
      ": records in general have no pictures; use image_folder, cosmoflow or imagenet");
}

}  // namespace

DatasetRecord tfrecord() {
  return {.name = "tfrecord",
          .title = "record files of tf.train.Example",
          .files = "a TFRecord file of tf.train.Example, or a folder of them",
          .verify = verify_tfrecord,
          .pipeline = tfrecord_pipeline,
          .show = show_tfrecord};
}

}  // namespace pando::datasets
