// `pando data make-...`: small data sets in the files of well-known ones.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/cli/data_verbs.h"
#include "pando/data/sources/cifar/cifar.h"
#include "pando/data/sources/cosmoflow.h"
#include "pando/data/sources/imagenet/make.h"
#include "pando/data/sources/make_shapes.h"

namespace pando::cli {
namespace {

// New files must not mix with existing files or replace them.
void refuse_full(const std::string& folder) {
  if (folder.empty()) throw UsageError("DIR: expected the folder to make, got an empty name");
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return;
  if (!std::filesystem::is_directory(folder, error)) {
    throw UsageError("DIR: '", folder, "' is a file, expected the folder to make");
  }
  if (std::filesystem::is_empty(folder, error) && !error) return;
  throw UsageError("DIR: '", folder, "' is not empty; remove it or name another folder");
}

void add_seed(OptionTable& table, int64_t& seed) {
  table.add("seed", seed, "the same seed and sizes give the same files").with_hint("N").at_least(0);
}

}  // namespace

int data_make_cifar10(Arguments args, std::ostream& out) {
  std::string folder;
  MakeCifarOptions options;
  int64_t seed = 0;
  const bool go = parse_verb(
      args, out,
      "usage: pando data make-cifar10 DIR [flags]\n\n"
      "Makes images of ten classes that a network can learn, in the format of CIFAR-10. Train on "
      "them with\n  pando train --model cifar_resnet8 --dataset-path DIR\n\n",
      [&](OptionTable& table) {
        table.add_positional("DIR", folder, "the folder to make");
        table.add("train", options.train, "training images").with_hint("N").at_least(5);
        table.add("test", options.test, "test images").with_hint("N").at_least(1);
        table.add("python", options.python, "write the files of the Python version");
        add_seed(table, seed);
      });
  if (!go) return app::kDone;
  options.seed = static_cast<uint64_t>(seed);
  refuse_full(folder);
  const std::string made = make_cifar10(folder, options);
  out << fmt::format("{} training and {} test images are in {}\n", options.train, options.test,
                     made);
  return app::kDone;
}

int data_make_cosmoflow(Arguments args, std::ostream& out) {
  std::string folder;
  MakeCosmoflowOptions options;
  int64_t seed = 0;
  int64_t side = options.shape[0];
  bool compressed = options.compression == Compression::gzip;
  const bool go = parse_verb(
      args, out,
      "usage: pando data make-cosmoflow DIR [flags]\n\n"
      "Makes volumes with four parameters that a network can learn, one compressed TFRecord file "
      "each, in\nDIR/train and DIR/validation.\n\n",
      [&](OptionTable& table) {
        table.add_positional("DIR", folder, "the folder to make");
        table.add("train", options.train, "training volumes").with_hint("N").at_least(1);
        table.add("validation", options.validation, "validation volumes")
            .with_hint("N")
            .at_least(0);
        table.add("side", side, "voxels along each of the three axes")
            .with_hint("N")
            .at_least(4)
            .at_most(1024);
        table.add("gzip", compressed, "compress the files");
        add_seed(table, seed);
      });
  if (!go) return app::kDone;
  options.seed = static_cast<uint64_t>(seed);
  options.shape = {side, side, side, options.shape[3]};
  options.compression = compressed ? Compression::gzip : Compression::none;
  refuse_full(folder);
  make_cosmoflow(folder, options);
  out << fmt::format("{} training and {} validation volumes of {}x{}x{}x{} are in {}\n",
                     options.train, options.validation, side, side, side, options.shape[3], folder);
  return app::kDone;
}

int data_make_imagenet(Arguments args, std::ostream& out) {
  std::string folder;
  MakeImagenetOptions options;
  int64_t seed = 0;
  options.workers = default_workers();
  const bool go = parse_verb(
      args, out,
      "usage: pando data make-imagenet DIR [flags]\n\n"
      "Makes pictures that a network can learn, with one bounding box each, in the record files of "
      "ImageNet.\nTrain on them with\n  pando train --model cifar_resnet8 --dataset imagenet "
      "--dataset-path DIR\n\n",
      [&](OptionTable& table) {
        table.add_positional("DIR", folder, "the folder to make");
        table.add("classes", options.classes, "classes").with_hint("N").at_least(1).at_most(1000);
        table.add("train", options.train, "training images").with_hint("N").at_least(1);
        table.add("validation", options.validation, "validation images").with_hint("N").at_least(1);
        table.add("train-shards", options.train_shards, "files of training images")
            .with_hint("N")
            .at_least(1);
        table.add("validation-shards", options.validation_shards, "files of validation images")
            .with_hint("N")
            .at_least(1);
        table.add("height", options.size.height, "rows of an image, give or take a quarter")
            .with_hint("N")
            .at_least(16)
            .at_most(kLargestMadeSide);
        table.add("width", options.size.width, "columns of an image, give or take a quarter")
            .with_hint("N")
            .at_least(16)
            .at_most(kLargestMadeSide);
        table.add("jpeg-folders", options.jpeg_folders,
                  "make the folders of ILSVRC2012, which build-imagenet reads, not record files");
        table.add("workers", options.workers, "threads").with_hint("N").at_least(1);
        add_seed(table, seed);
      });
  if (!go) return app::kDone;
  options.seed = static_cast<uint64_t>(seed);
  refuse_full(folder);
  make_imagenet(folder, options);
  out << fmt::format("{} training and {} validation images of {} classes are in {}\n",
                     options.train, options.validation, options.classes, folder);
  return app::kDone;
}

int data_make_shapes(Arguments args, std::ostream& out) {
  std::string folder;
  MakeShapesOptions options;
  int64_t seed = 0;
  const bool go = parse_verb(
      args, out,
      "usage: pando data make-shapes DIR [flags]\n\n"
      "Makes pictures of circles and squares on a noisy ground, with masks that tell the class of "
      "every\npixel. Train on them with\n  pando train --model unet --dataset image_folder "
      "--dataset-path DIR\n\n",
      [&](OptionTable& table) {
        table.add_positional("DIR", folder, "the folder to make");
        table.add("train", options.train, "training pictures").with_hint("N").at_least(1);
        table.add("validation", options.validation, "validation pictures")
            .with_hint("N")
            .at_least(1);
        table.add("size", options.size, "height and width of a picture")
            .with_hint("N")
            .at_least(16)
            .at_most(4096);
        add_seed(table, seed);
      });
  if (!go) return app::kDone;
  options.seed = static_cast<uint64_t>(seed);
  refuse_full(folder);
  make_shapes(folder, options);
  out << fmt::format("{} training and {} validation pictures of {}x{} with masks are in {}\n",
                     options.train, options.validation, options.size, options.size, folder);
  return app::kDone;
}

}  // namespace pando::cli
