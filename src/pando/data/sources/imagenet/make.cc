// SPDX-License-Identifier: MIT
#include "pando/data/sources/imagenet/make.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "pando/base/error.h"
#include "pando/base/new_file.h"
#include "pando/base/random.h"
#include "pando/data/image/jpeg.h"
#include "pando/data/parallel.h"
#include "pando/data/sources/imagenet/imagenet.h"
#include "pando/data/sources/imagenet/picture.h"
#include "pando/data/tfrecord/record_file.h"

namespace pando {

namespace {

namespace fs = std::filesystem;

// The number with zeros in front of it.
std::string padded(int64_t number, size_t width) {
  const std::string digits = std::to_string(number);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

class Maker {
 public:
  Maker(std::string folder, const MakeImagenetOptions& options)
      : folder_(std::move(folder)), options_(options) {
    for (int64_t label = 0; label < options.classes; ++label) {
      classes_.push_back(
          {concat("n9", padded(label, 7)), data::picture_class_name(static_cast<int32_t>(label))});
    }
  }

  void make_shards(ImagenetPart part) const {
    const int shards =
        part == ImagenetPart::train ? options_.train_shards : options_.validation_shards;
    data::for_each_item(static_cast<size_t>(shards), options_.workers, [&](size_t i) {
      const int shard = static_cast<int>(i);
      RecordWriter writer((fs::path(folder_) / data::shard_name(part, shard, shards)).string());
      const int64_t end = data::first_of_shard(count(part), shard + 1, shards);
      for (int64_t at = data::first_of_shard(count(part), shard, shards); at < end; ++at) {
        writer.write(record_of(part, at));
      }
      writer.finish();
    });
  }

  void write_labels() const { data::write_imagenet_labels(folder_, classes_); }

  void make_folders() const {
    if (std::error_code error; fs::exists(fs::path(folder_) / "train", error)) {
      throw IoError(folder_, ": has a folder train already; remove it or choose another folder");
    }
    for (const data::ImagenetClass& one : classes_) {
      data::make_folder((fs::path(folder_) / "train" / one.synset).string());
    }
    data::make_folder((fs::path(folder_) / "validation").string());
    std::vector<std::string> boxes;
    for (const ImagenetPart part : {ImagenetPart::train, ImagenetPart::validation}) {
      write_images(part, boxes);
    }
    std::vector<std::string> synsets;
    std::vector<std::string> metadata;
    std::vector<std::string> validation;
    for (const auto& one : classes_) synsets.push_back(one.synset);
    for (const auto& one : classes_) metadata.push_back(concat(one.synset, "\t", one.text));
    for (int64_t i = 0; i < options_.validation; ++i) {
      validation.push_back(class_of(ImagenetPart::validation, i).synset);
    }
    const fs::path folder(folder_);
    write_lines((folder / "synset_labels.txt").string(), synsets);
    write_lines((folder / "imagenet_metadata.txt").string(), metadata);
    write_lines((folder / "imagenet_2012_validation_synset_labels.txt").string(), validation);
    write_lines((folder / "imagenet_2012_bounding_boxes.csv").string(), boxes);
  }

 private:
  int64_t count(ImagenetPart part) const {
    return part == ImagenetPart::train ? options_.train : options_.validation;
  }
  uint64_t key(ImagenetPart part, int64_t index) const {
    const uint64_t purpose = hash_name(concat("imagenet ", to_string(part)));
    return mix_keys(mix_keys(purpose, options_.seed), static_cast<uint64_t>(index));
  }
  // Classes come in a random order, each as often as the others.
  int32_t label_of(ImagenetPart part, int64_t index) const {
    const int64_t round = index / options_.classes;
    const auto order = random_permutation(options_.classes, key(part, -1 - round));
    return static_cast<int32_t>(order[static_cast<size_t>(index % options_.classes)]);
  }
  const data::ImagenetClass& class_of(ImagenetPart part, int64_t index) const {
    return classes_[static_cast<size_t>(label_of(part, index))];
  }
  std::string name_of(ImagenetPart part, int64_t index) const {
    if (part == ImagenetPart::validation) {
      return concat("ILSVRC2012_val_", padded(index + 1, 8), ".JPEG");
    }
    return concat(class_of(part, index).synset, "_", index + 1, ".JPEG");
  }

  std::vector<uint8_t> record_of(ImagenetPart part, int64_t index) const {
    const int32_t label = label_of(part, index);
    const data::Picture picture = data::make_picture(label, options_.size, key(part, index));
    const std::vector<uint8_t> encoded = encode_jpeg(picture.image.view());
    const data::ImagenetClass& one = classes_[static_cast<size_t>(label)];
    return data::encode_imagenet_record({.encoded = encoded,
                                         .size = picture.image.size,
                                         .label = label,
                                         .synset = one.synset,
                                         .text = one.text,
                                         .file_name = name_of(part, index),
                                         .objects = std::span(&picture.object, 1)});
  }

  void write_images(ImagenetPart part, std::vector<std::string>& boxes) const {
    std::vector<std::string> lines(static_cast<size_t>(count(part)));
    data::for_each_item(lines.size(), options_.workers, [&](size_t i) {
      const auto index = static_cast<int64_t>(i);
      const data::Picture picture =
          data::make_picture(label_of(part, index), options_.size, key(part, index));
      fs::path path = fs::path(folder_) / to_string(part);
      if (part == ImagenetPart::train) path /= class_of(part, index).synset;
      const std::string name = name_of(part, index);
      const std::vector<uint8_t> encoded = encode_jpeg(picture.image.view());
      write_new_file(path / name, std::as_bytes(std::span(encoded)));
      const ObjectBox& box = picture.object;
      lines[i] = concat(name, ",", box.x_min, ",", box.y_min, ",", box.x_max, ",", box.y_max);
    });
    boxes.insert(boxes.end(), lines.begin(), lines.end());
  }

  std::string folder_;
  MakeImagenetOptions options_;
  std::vector<data::ImagenetClass> classes_;
};

void check(const ImageSize& size) {
  const auto fits = [](int64_t side) { return side >= 16 && side <= kLargestMadeSide; };
  if (fits(size.height) && fits(size.width) && size.pixels() <= (1 << 26)) return;
  throw InvalidArgument("make ImageNet: size ", size, ", expected sides of 16 to ",
                        kLargestMadeSide, " and at most 2^26 pixels");
}

void check(const MakeImagenetOptions& options) {
  if (options.classes < 1 || options.classes > kImagenetClasses) {
    throw InvalidArgument("make ImageNet: ", options.classes, " classes, expected 1 to ",
                          kImagenetClasses);
  }
  const auto check_part = [&](const char* part, int64_t images, int64_t shards) {
    if (shards < 1 || shards > data::kMostShards || images < shards) {
      throw InvalidArgument("make ImageNet: ", images, " ", part, " images in ", shards,
                            " shards, expected at least one image in each of 1 to ",
                            data::kMostShards, " shards");
    }
  };
  check_part("train", options.train, options.train_shards);
  check_part("validation", options.validation, options.validation_shards);
  if (options.jpeg_folders && options.train < options.classes) {
    throw InvalidArgument("make ImageNet: ", options.train, " train images of ", options.classes,
                          " classes, expected at least one of each");
  }
  check(options.size);
  if (options.workers < 1) {
    throw InvalidArgument("make ImageNet: ", options.workers, " workers, expected at least 1");
  }
}

// Shards of another count beside the new ones would make a set that cannot be read.
void refuse_other_shards(const std::string& folder, const MakeImagenetOptions& options) {
  for (const std::string& name : data::shard_names_in(folder)) {
    const int train = data::parse_shard_name(name, ImagenetPart::train).shards;
    const int validation = data::parse_shard_name(name, ImagenetPart::validation).shards;
    if (train == options.train_shards || validation == options.validation_shards) continue;
    throw IoError(folder, ": found ", name, " of another set; remove it or choose another folder");
  }
}

}  // namespace

void make_imagenet(const std::string& folder, const MakeImagenetOptions& options) {
  check(options);
  data::make_folder(folder);
  const Maker maker(folder, options);
  if (options.jpeg_folders) {
    maker.make_folders();
    return;
  }
  refuse_other_shards(folder, options);
  maker.make_shards(ImagenetPart::train);
  maker.make_shards(ImagenetPart::validation);
  maker.write_labels();
}

}  // namespace pando
