// Verifies ImageNet as record files.
// SPDX-License-Identifier: MIT
#include <filesystem>
#include <utility>

#include "pando/data/sources/imagenet/imagenet.h"
#include "pando/data/tools/places_impl.h"
#include "pando/data/tools/verify_impl.h"

namespace pando::data {

namespace {

struct OfficialPart {
  ImagenetPart part;
  int64_t samples;
  int64_t shards;
};
constexpr OfficialPart kOfficialParts[] = {
    {ImagenetPart::train, kImagenetTrain, kImagenetTrainShards},
    {ImagenetPart::validation, kImagenetValidation, kImagenetValidationShards}};

std::vector<std::string> shards_of(const std::string& folder, ImagenetPart part) {
  return files_in(
      folder, [part](const std::string& name) { return parse_shard_name(name, part).shards > 0; });
}

void verify_part(const std::string& folder, const OfficialPart& official, int64_t classes,
                 const VerifyOptions& options, ReportBuilder& builder) {
  const std::string name(to_string(official.part));
  builder.begin_part(name, official.samples, classes);
  const std::vector<std::string> paths = shards_of(folder, official.part);
  if (paths.empty()) {
    builder.add_bad({folder, 0,
                     concat("found no file ", name, "-00000-of-00000, with any numbers; wanted ",
                            official.shards, " in the official data set")});
    return;
  }
  for (const std::string& shard : missing_shards(paths)) {
    builder.add_bad(missing_file(shard, "wanted all shards"));
  }
  std::vector<FileFindings> all =
      check_files(paths, options, [&](const std::string& path, FileFindings& findings) {
        Image scratch;
        check_record_file(path, findings, [&](const Example& example) -> int64_t {
          const ImagenetExample record = read_imagenet_example(example, classes);
          ImageReader(record.encoded, "feature 'image/encoded'", options.limits).read(scratch);
          return record.label;
        });
      });
  for (FileFindings& findings : all) builder.add(std::move(findings));
  if (std::ssize(paths) != official.shards) {
    builder.deviation(folder, concat(name, ": ", paths.size(), " shards, ", official.shards,
                                     " in the official data set"));
  }
}

}  // namespace

VerifyReport verify_imagenet(const std::string& path, const VerifyOptions& options) {
  ReportBuilder builder(options);
  int64_t classes = kImagenetClasses;
  try {
    std::vector<std::string> names = imagenet_class_names(path);
    if (names.empty()) {
      builder.note("no labels.txt: the classes have no names and are taken to be 1000");
    } else {
      classes = std::ssize(names);
    }
    builder.set_classes(std::move(names));
  } catch (const IoError& error) {
    const std::string file = (std::filesystem::path(path) / kImagenetLabels).string();
    builder.add_bad({file, 0, without_place(error.what(), file)});
  }
  try {
    for (const OfficialPart& part : kOfficialParts) {
      verify_part(path, part, classes, options, builder);
    }
  } catch (const IoError& error) {
    builder.add_bad({path, 0, without_place(error.what(), path)});
  }
  return std::move(builder).finish(path);
}

}  // namespace pando::data
