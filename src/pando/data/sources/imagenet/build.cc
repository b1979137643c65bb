// SPDX-License-Identifier: MIT
#include "pando/data/sources/imagenet/build.h"

#include <filesystem>
#include <mutex>
#include <utility>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/data/image/jpeg.h"
#include "pando/data/parallel.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/imagenet/build_state.h"
#include "pando/data/sources/imagenet/inputs.h"
#include "pando/data/tfrecord/record_file.h"

namespace pando {

namespace {

namespace fs = std::filesystem;
using data::BuiltShard;
using data::ImagenetInput;

constexpr int64_t kImagesPerReport = 64;

void check(const ImagenetBuildOptions& options) {
  const auto check_shards = [](ImagenetPart part, int shards) {
    if (shards >= 1 && shards <= data::kMostShards) return;
    throw InvalidArgument("build ImageNet: ", shards, " ", to_string(part),
                          " shards, expected 1 to ", data::kMostShards);
  };
  check_shards(ImagenetPart::train, options.train_shards);
  check_shards(ImagenetPart::validation, options.validation_shards);
  if (options.workers < 1) {
    throw InvalidArgument("build ImageNet: ", options.workers, " workers, expected at least 1");
  }
}

void check_count(ImagenetPart part, const std::vector<ImagenetInput>& inputs, int shards) {
  if (std::ssize(inputs) >= shards) return;
  throw InvalidArgument("build ImageNet: ", inputs.size(), " ", to_string(part), " images for ",
                        shards, " shards, expected at least one for each; choose fewer shards (--",
                        to_string(part), "-shards)");
}

// An image as it goes into a record.
struct StoredImage {
  std::vector<uint8_t> bytes;
  ImageSize size;
  bool converted = false;
};

StoredImage load_image(const std::string& path, const DecodeLimits& limits, Image& scratch) {
  StoredImage image{.bytes = data::read_file(path), .size = {}, .converted = false};
  {
    ImageReader reader(image.bytes, path, limits, Orientation::as_stored);
    reader.read(scratch);
    image.converted = reader.format() != ImageFormat::jpeg || reader.cmyk();
  }
  image.size = scratch.size;
  if (image.converted) image.bytes = encode_jpeg(scratch.view(), {.quality = 100});
  return image;
}

// One run. Workers share it; the counts are guarded by the mutex.
class Build {
 public:
  Build(std::string folder, data::ImagenetInputs inputs, const ImagenetBuildOptions& options)
      : folder_(std::move(folder)),
        inputs_(std::move(inputs)),
        options_(options),
        state_(folder_, key()) {
    for (const ImagenetPart part : {ImagenetPart::train, ImagenetPart::validation}) {
      const bool train = part == ImagenetPart::train;
      const int shards = train ? options.train_shards : options.validation_shards;
      const auto count = std::ssize(inputs_.of(part));
      orders_[train ? 0 : 1] =
          random_permutation(count, mix_keys(options.seed, hash_name(to_string(part))));
      for (int shard = 0; shard < shards; ++shard) tasks_.push_back({part, shard, shards});
      progress_.all_images += count;
    }
    progress_.all_shards = static_cast<int>(tasks_.size());
  }

  ImagenetBuildReport run() {
    built_.resize(tasks_.size());
    data::for_each_item(tasks_.size(), options_.workers, [&](size_t i) {
      try {
        build(tasks_[i], built_[i]);
      } catch (...) {
        failed_ = true;  // stops the other workers
        throw;
      }
    });
    ImagenetBuildReport report = make_report();
    if (report.finished) {
      data::write_imagenet_labels(folder_, inputs_.classes);
      state_.finish();
    }
    return report;
  }

 private:
  struct Task {
    ImagenetPart part;
    int shard;
    int shards;
    std::string name() const { return data::shard_name(part, shard, shards); }
  };
  struct Result {
    BuiltShard shard;
    bool whole = false;
    bool kept = false;
  };

  // A hash of everything that determines the bytes of the shards, except the treatment of bad
  // images: a build that a bad image ended can continue with OnBadRecord::skip.
  uint64_t key() const {
    uint64_t key = mix_keys(fingerprint(inputs_), options_.seed);
    key = mix_keys(key, static_cast<uint64_t>(options_.train_shards));
    key = mix_keys(key, static_cast<uint64_t>(options_.validation_shards));
    return mix_keys(key, static_cast<uint64_t>(options_.limits.max_pixels));
  }

  bool stopped() const { return failed_ || (options_.stop != nullptr && *options_.stop); }

  void build(const Task& task, Result& result) {
    const std::string name = task.name();
    const BuiltShard* earlier = state_.find(name);
    const bool skips = options_.on_bad_record == OnBadRecord::skip;
    if (earlier != nullptr && (skips || earlier->skipped.empty())) {
      result = {.shard = *earlier, .whole = true, .kept = true};
    } else {
      result.whole = write_shard(task, (fs::path(folder_) / name).string(), result.shard);
      if (result.whole) state_.add(name, result.shard);
    }
    if (!result.whole) return;
    const int64_t all = result.shard.records + std::ssize(result.shard.skipped);
    report_progress(result.kept ? all : all % kImagesPerReport, 1);
  }

  // Returns false if the build was stopped; then no file is left.
  bool write_shard(const Task& task, const std::string& path, BuiltShard& shard) {
    const auto& inputs = inputs_.of(task.part);
    const auto& order = orders_[task.part == ImagenetPart::train ? 0 : 1];
    const int64_t first = data::first_of_shard(std::ssize(inputs), task.shard, task.shards);
    const int64_t end = data::first_of_shard(std::ssize(inputs), task.shard + 1, task.shards);
    RecordWriter writer(path);
    Image scratch;
    for (int64_t i = first; i < end; ++i) {
      if (stopped()) return false;
      write_record(inputs[static_cast<size_t>(order[static_cast<size_t>(i)])], writer, scratch,
                   shard);
      if ((i + 1 - first) % kImagesPerReport == 0) report_progress(kImagesPerReport, 0);
    }
    writer.finish();
    shard.records = writer.records();
    shard.bytes = fs::file_size(path);
    return true;
  }

  void write_record(const ImagenetInput& input, RecordWriter& writer, Image& scratch,
                    BuiltShard& shard) const {
    StoredImage image;
    try {
      image = load_image(input.path, options_.limits, scratch);
    } catch (const Error& error) {
      const bool skips = options_.on_bad_record == OnBadRecord::skip;
      if (!skips || error.kind() == ErrorKind::internal) throw;
      shard.skipped.push_back(
          {.file = input.path, .offset = 0, .why = without_place(error.what(), input.path)});
      return;
    }
    const data::ImagenetClass& one = inputs_.classes[static_cast<size_t>(input.label)];
    writer.write(
        data::encode_imagenet_record({.encoded = image.bytes,
                                      .size = image.size,
                                      .label = input.label,
                                      .synset = one.synset,
                                      .text = one.text,
                                      .file_name = fs::path(input.path).filename().string(),
                                      .objects = input.objects}));
    shard.converted += image.converted ? 1 : 0;
  }

  void report_progress(int64_t images, int shards) {
    const std::lock_guard lock(mutex_);
    progress_.images += images;
    progress_.shards += shards;
    if (options_.progress) options_.progress(progress_);
  }

  ImagenetBuildReport make_report() {
    ImagenetBuildReport report{.finished = true};
    for (size_t i = 0; i < tasks_.size(); ++i) {
      Result& result = built_[i];
      report.finished = report.finished && result.whole;
      if (!result.whole) continue;
      (tasks_[i].part == ImagenetPart::train ? report.train : report.validation) +=
          result.shard.records;
      report.kept_shards += result.kept ? 1 : 0;
      report.converted += result.shard.converted;
      for (BadRecord& bad : result.shard.skipped) report.skipped.push_back(std::move(bad));
    }
    return report;
  }

  std::string folder_;
  data::ImagenetInputs inputs_;
  ImagenetBuildOptions options_;
  data::BuildState state_;
  std::vector<int64_t> orders_[2];  // of the samples of train and validation
  std::vector<Task> tasks_;
  std::vector<Result> built_;  // each written by the worker of its task
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  ImagenetBuildProgress progress_;
};

}  // namespace

ImagenetBuildReport build_imagenet(const std::string& source, const std::string& folder,
                                   const ImagenetBuildOptions& options) {
  check(options);
  data::ImagenetInputs inputs =
      data::list_imagenet_inputs(source,
                                 {.synsets = options.synsets,
                                  .metadata = options.metadata,
                                  .validation_labels = options.validation_labels,
                                  .bounding_boxes = options.bounding_boxes},
                                 options.workers);
  check_count(ImagenetPart::train, inputs.train, options.train_shards);
  check_count(ImagenetPart::validation, inputs.validation, options.validation_shards);
  data::make_folder(folder);
  return Build(folder, std::move(inputs), options).run();
}

}  // namespace pando
