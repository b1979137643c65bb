// ImageNet (ILSVRC2012) as record files.
// SPDX-License-Identifier: MIT
#include "pando/data/sources/imagenet/imagenet.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "pando/base/environment.h"
#include "pando/base/error.h"
#include "pando/data/stream_order.h"
#include "pando/datasets/fingerprint.h"
#include "pando/datasets/records_impl.h"
#include "pando/datasets/tools/image_stages_impl.h"
#include "pando/datasets/tools/places_impl.h"
#include "pando/datasets/tools/record_stages_impl.h"
#include "pando/datasets/tools/show_impl.h"
#include "pando/datasets/tools/verify_impl.h"
#include "pando/datasets/validation_split.h"

namespace pando::datasets {

namespace {

// Both parts; with a validation split, the second one is the end of the first.
Imagenet load_parts(const std::string& path, const DataLoadOptions& options) {
  ImagenetOptions reading{.size = {options.view_side, options.view_side},
                          .flip_on_device = options.flips_on_device(),
                          .box = view_box(options.augmentation),
                          .augmentation = view_augmentation(options.augmentation),
                          .short_side = view_short_side(options),
                          .dtype = view_dtype(options),
                          .map = view_map(options),
                          .seed = augmentation_key(options.seed),
                          .on_bad_record = options.on_bad_record,
                          .workers = options.workers,
                          .index_folder = cache_folder("index")};
  if (options.validation_split == 0) return load_imagenet(path, reading);
  RecordDataset train = open_imagenet(path, ImagenetPart::train, reading);
  reading.random_views = false;
  const Dataset all = open_imagenet(path, ImagenetPart::train, reading).data;
  const int64_t count = validation_count(all.size(), options.validation_split);
  std::vector<std::string> names = imagenet_class_names(path);
  return {
      .train = without_last(std::move(train), count),
      .validation = {.data = all.skip(all.size() - count), .skipped = {}, .records_per_file = {}},
      .classes = names.empty() ? kImagenetClasses : std::ssize(names),
      .class_names = std::move(names)};
}

TrainingData load_shards(const std::string& path, const DataLoadOptions& options) {
  Imagenet imagenet = load_parts(path, options);
  TrainingData data{.sets = {.train = stream_records(imagenet.train, {.seed = options.seed,
                                                                      .shuffle = options.shuffle}),
                             .test = imagenet.validation.data,
                             .classes = imagenet.classes},
                    .class_names = std::move(imagenet.class_names),
                    .in_order = true};
  data.fingerprint = fingerprint_of_files(path, imagenet_shards(path, ImagenetPart::train));
  data.skipped = std::move(imagenet.train.skipped);
  data.skipped.insert(data.skipped.end(), imagenet.validation.skipped.begin(),
                      imagenet.validation.skipped.end());
  data.front = view_front(options);
  return data;
}

bool holds_shards(const std::string& folder) { return !data::shard_names_in(folder).empty(); }

struct OfficialPart {
  ImagenetPart part;
  int64_t samples;
  int64_t shards;
};
constexpr OfficialPart kOfficialParts[] = {
    {ImagenetPart::train, kImagenetTrain, kImagenetTrainShards},
    {ImagenetPart::validation, kImagenetValidation, kImagenetValidationShards}};

std::vector<std::string> shards_of(const std::string& folder, ImagenetPart part) {
  return files_in(folder, [part](const std::string& name) {
    return data::parse_shard_name(name, part).shards > 0;
  });
}

void verify_imagenet_part(const std::string& folder, const OfficialPart& official, int64_t classes,
                          const VerifyOptions& options, ReportBuilder& builder) {
  const std::string name(to_string(official.part));
  builder.begin_part(name, official.samples, classes);
  const std::vector<std::string> paths = shards_of(folder, official.part);
  if (paths.empty()) {
    builder.add_bad({folder, 0,
                     concat("expected files ", name,
                            "-*-of-*, found none; the official data set has ", official.shards)});
    return;
  }
  for (const std::string& shard : missing_shards(paths)) {
    builder.add_bad(missing_file(shard, "expected all shards"));
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

VerifyReport verify_imagenet(const std::string& path, const VerifyOptions& options) {
  ReportBuilder builder(options);
  int64_t classes = kImagenetClasses;
  try {
    std::vector<std::string> names = imagenet_class_names(path);
    if (names.empty()) {
      builder.note("no labels.txt: the classes have no names, and 1000 classes are assumed");
    } else {
      classes = std::ssize(names);
    }
    builder.set_classes(std::move(names));
  } catch (const IoError& error) {
    const std::string file = (std::filesystem::path(path) / data::kImagenetLabels).string();
    builder.add_bad({file, 0, without_place(error.what(), file)});
  }
  try {
    for (const OfficialPart& part : kOfficialParts) {
      verify_imagenet_part(path, part, classes, options, builder);
    }
  } catch (const IoError& error) {
    builder.add_bad({path, 0, without_place(error.what(), path)});
  }
  return std::move(builder).finish(path);
}

Pipeline imagenet_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const PiecesPtr pieces = find_pieces(imagenet_shards(path, ImagenetPart::train));
  const MakeEachImage images = [pieces]() -> EachImage {
    auto reader = std::make_shared<PieceReader>(pieces);
    return [reader](int64_t unit, const ImageUse& use) {
      reader->each_payload(unit, [&](std::span<const uint8_t> payload) {
        const Example example(payload);
        const ImagenetExample record = read_imagenet_example(example);
        use({record.encoded, record.objects});
      });
    };
  };
  const RecordDataset train =
      open_imagenet(path, ImagenetPart::train, {.seed = options.seed, .workers = options.workers});
  Pipeline pipeline = record_pipeline(pieces);
  pipeline.samples = train.data.size();
  pipeline.stages.push_back(decode_stage(images, options.seed));
  pipeline.stages.push_back(view_stage(images, options.seed));
  pipeline.batches = stream_records(train, {.seed = options.seed});
  return pipeline;
}

Showing show_imagenet(const std::string& path, const ShowOptions& options) {
  const ImagenetPart part = options.test ? ImagenetPart::validation : ImagenetPart::train;
  return {open_imagenet(path, part,
                        {.random_views = options.augment,
                         .box = view_box(options.augmentation),
                         .augmentation = view_augmentation(options.augmentation),
                         .dtype = DType::u8,
                         .seed = options.seed})
              .data,
          imagenet_class_names(path),
          {}};
}

}  // namespace

DatasetRecord imagenet() {
  return {.name = "imagenet",
          .title = "ILSVRC 2012, photographs of 1,000 kinds of things",
          .shape = {0, 0, 3},
          .train = kImagenetTrain,
          .test = kImagenetValidation,
          .classes = kImagenetClasses,
          .files =
              "train-00000-of-01024 and so on, validation-00000-of-00128 and so on, "
              "labels.txt",
          .how =
              "register at https://www.image-net.org, then pando data build-imagenet SOURCE "
              "DIR; or make a small one: pando data make-imagenet DIR",
          .other_folders = {"imagenet-data"},
          .holds = holds_shards,
          .path_help =
              "name the folder of its shards with --dataset-path; 'pando data "
              "build-imagenet' makes them from the images of ILSVRC2012, 'pando data "
              "make-imagenet' makes a small set to try",
          .load = load_shards,
          .preparation = kViewPreparation,
          .verify = verify_imagenet,
          .pipeline = imagenet_pipeline,
          .show = show_imagenet};
}

}  // namespace pando::datasets
