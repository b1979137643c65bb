// CIFAR-10 and CIFAR-100: colour images of 32x32 pixels in the files of the official archives.
// SPDX-License-Identifier: MIT
#include "pando/data/sources/cifar/cifar.h"

#include <utility>

#include "pando/base/error.h"
#include "pando/data/sources/cifar/batch.h"
#include "pando/data/sources/gzip.h"
#include "pando/datasets/records_impl.h"
#include "pando/datasets/tools/array_stages_impl.h"
#include "pando/datasets/tools/show_impl.h"
#include "pando/datasets/tools/verify_impl.h"

namespace pando::datasets {

namespace {

using data::CifarForm;
using data::CifarKind;

constexpr int64_t kCifarTrain = 50000;
constexpr int64_t kCifarTest = 10000;
constexpr Preparation kCifarPreparation = {.on_host = PixelValues::standardised,
                                           .on_device = PreprocessValues::standardise,
                                           .flip = true,
                                           .border = 4};
constexpr int64_t kMostText = 65536;  // largest size of a readme or a list of names

using LoadCifar = TrainTest (*)(const std::string& folder, const CifarOptions& options);
using ClassNames = const std::vector<std::string>& (*)();

template <LoadCifar load>
TrainingData load_cifar_data(const std::string& path, const DataLoadOptions& options) {
  TrainingData data = load_arrays(path, options, [&](std::vector<BadRecord>* skipped) {
    return load(path, {.x = DType::u8, .skipped = skipped});
  });
  prepare(data, kCifarPreparation, options);
  return data;
}

void check_cifar_file(const std::string& path, FileFindings& findings, CifarForm form,
                      CifarKind kind) {
  const std::vector<uint8_t> content = data::read_file(path);
  std::vector<data::CifarFlaw> flaws;
  const CifarImages images = form == CifarForm::binary
                                 ? data::parse_cifar_binary(content, path, kind, &flaws)
                                 : data::parse_cifar_python(content, path, kind, &flaws);
  for (const data::CifarFlaw& flaw : flaws) findings.flaw(flaw.offset, flaw.why);
  const auto labels = images.labels.i32();
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool coarse_good = images.coarse_labels.empty() || images.coarse_labels.i32()[i] >= 0;
    if (labels[i] >= 0 && coarse_good) findings.sample(labels[i]);
  }
}

template <CifarKind kind, ClassNames names>
VerifyReport verify_cifar(const std::string& path, const VerifyOptions& options) {
  ReportBuilder builder(options);
  builder.set_classes(names());
  const data::CifarPlace place = data::find_cifar(path, kind);
  const auto add_part = [&](const char* name, int64_t official,
                            const std::vector<std::string>& paths) {
    builder.begin_part(name, official, data::cifar_classes(kind));
    std::vector<FileFindings> all =
        check_files(paths, options, [&](const std::string& file, FileFindings& findings) {
          check_cifar_file(file, findings, place.form, kind);
        });
    for (FileFindings& findings : all) builder.add(std::move(findings));
  };
  if (place.found.empty()) {
    builder.add_bad({path, 0,
                     concat("found none of ", join(place.missing, ", "), "; ",
                            data::cifar_remedy(path, kind))});
  } else {
    add_part("train", kCifarTrain, place.train);
    add_part("test", kCifarTest, {place.test});
    builder.note(place.form == CifarForm::binary ? "the binary version" : "the Python version");
  }
  return std::move(builder).finish(path);
}

template <LoadCifar load>
Pipeline cifar_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const TrainTest sets = load(path, {.x = DType::u8});
  const Dataset plain = sets.train.shuffle({.seed = options.seed});
  const Dataset augmented = augment_images(sets.train, {.values = kCifarPreparation.on_host,
                                                        .flip = true,
                                                        .border = kCifarPreparation.border,
                                                        .seed = options.seed})
                                .shuffle({.seed = options.seed});
  const int64_t block = block_of(plain, options);
  Pipeline pipeline = array_pipeline(augmented, block);
  pipeline.stages = {
      gather_stage("gather", "bytes, in a shuffled order", plain, bytes_of(plain), block),
      gather_stage("augment", "mirrored, cropped, standardised", augmented, bytes_of(plain),
                   block)};
  return pipeline;
}

template <LoadCifar load, ClassNames names>
Showing show_cifar(const std::string& path, const ShowOptions& options) {
  const TrainTest sets = load(path, {.x = DType::u8});
  const Dataset plain = options.test ? sets.test : sets.train;
  AugmentOptions augment;
  if (options.augment) augment = train_augmentation(kCifarPreparation, options.augmentation);
  augment.values = PixelValues::bytes;
  augment.seed = options.seed;
  return {augment_images(plain, augment), names(), {}};
}

template <CifarKind kind>
bool holds_batches(const std::string& folder) {
  return data::find_cifar(folder, kind).missing.empty();
}

// The common part of the two records.
template <CifarKind kind, LoadCifar load, ClassNames names>
DatasetRecord cifar_dataset(fetch::RemoteFile archive, const std::string& subfolder) {
  return {.shape = {32, 32, 3},
          .train = kCifarTrain,
          .test = kCifarTest,
          .classes = data::cifar_classes(kind),
          .class_names = names(),
          .files = "the batches of the binary or the Python version",
          .remote =
              fetch::RemoteDataset{
                  .licence = "none stated; its authors ask to cite their report of 2009",
                  .homepage = "https://www.cs.toronto.edu/~kriz/cifar.html",
                  .files = {std::move(archive)},
                  .subfolder = subfolder},
          .holds = holds_batches<kind>,
          .load = load_cifar_data<load>,
          .preparation = kCifarPreparation,
          .verify = verify_cifar<kind, names>,
          .pipeline = cifar_pipeline<load>,
          .show = show_cifar<load, names>};
}

}  // namespace

// md5, and 30,730,000 bytes for each batch: the publisher's page, cs.toronto.edu/~kriz/cifar.html.
// Size and sha256: tensorflow/datasets, tensorflow_datasets/url_checksums/cifar10.txt at 333639b.
// The same sha256: JuliaML/MLDatasets.jl, src/CIFAR10/CIFAR10.jl at 01fcb3b.
DatasetRecord cifar10() {
  fetch::RemoteFile archive = {
      .name = "cifar-10-binary.tar.gz",
      .addresses = {"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"},
      .bytes = 170052171,
      .sha256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
      .md5 = "c32a1d4ab5d03f1284b67883e8d87530"};
  const std::string folder = "cifar-10-batches-bin";
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"}) {
    archive.contents.push_back({.path = folder + "/" + name, .bytes = 30730000});
  }
  for (const char* name : {"batches.meta.txt", "readme.html"}) {
    archive.contents.push_back({.path = folder + "/" + name, .bytes = kMostText, .optional = true});
  }
  DatasetRecord record =
      cifar_dataset<CifarKind::cifar10, load_cifar10, cifar10_names>(std::move(archive), folder);
  record.name = "cifar10";
  record.title = "small colour photographs";
  return record;
}

// Size and sha256: tensorflow/datasets, tensorflow_datasets/url_checksums/cifar100.txt at 333639b.
// The same sha256: JuliaML/MLDatasets.jl, src/CIFAR100/CIFAR100.jl at 01fcb3b.
// md5: mindcv (MindSpore), the class Cifar100Download, beside the md5 of CIFAR-10 that the
// publisher gives. The sizes of the two files follow from the format on the publisher's page: two
// labels and 3,072 bytes for each of 50,000 and 10,000 images.
DatasetRecord cifar100() {
  const std::string folder = "cifar-100-binary";
  DatasetRecord record = cifar_dataset<CifarKind::cifar100, load_cifar100, cifar100_names>(
      {.name = "cifar-100-binary.tar.gz",
       .addresses = {"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"},
       .bytes = 168513733,
       .sha256 = "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
       .md5 = "03b5dce01913d631647c71ecec9e9cb8",
       .contents =
           {{.path = folder + "/train.bin", .bytes = 50000 * 3074},
            {.path = folder + "/test.bin", .bytes = 10000 * 3074},
            {.path = folder + "/fine_label_names.txt", .bytes = kMostText, .optional = true},
            {.path = folder + "/coarse_label_names.txt", .bytes = kMostText, .optional = true}}},
      folder);
  record.name = "cifar100";
  record.title = "small colour photographs in 20 groups of classes";
  return record;
}

}  // namespace pando::datasets
