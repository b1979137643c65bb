// Images in a folder per class, a common layout of collections of photographs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/data/bad_records.h"
#include "pando/data/dataset.h"
#include "pando/data/image/views.h"

namespace pando {

struct ImageFolderOptions {
  ImageSize size = {224, 224};
  bool random_views = false;     // for training: a distorted box, mirrored in half of the cases
  bool flip_on_device = false;   // random views have the field "flip", u8, and are not mirrored
  DistortedBoxOptions box = {};  // limits of random views
  ViewAugmentation augmentation = {};  // changes of random views
  int64_t short_side = 256;            // other views: resized to it, then the middle is taken
  DType dtype = DType::f32;            // f32, mapped by `map`, or u8
  ChannelMap map = normalise_imagenet();
  uint64_t seed = 0;  // decides the random views
  OnBadRecord on_bad_record = OnBadRecord::error;
  DecodeLimits limits = {};
  int workers = 1;  // threads that read all images once for OnBadRecord::skip
  // The names of the classes in the order of the labels; empty: the folders that have images.
  std::vector<std::string> classes = {};
};

struct ImageFolder {
  Dataset dataset;                   // x f32 or u8 [height, width, 3], y i32, maybe flip u8
  std::vector<std::string> classes;  // label i is the folder with name classes[i]
  std::vector<std::string> files;    // a file per sample, in their order
  std::vector<BadRecord> bad;        // what was skipped
};

// The classes are the folders in `directory` that have images, sorted by name; the samples all
// files in them, sorted by path below the class, whatever their endings; clutter (clutter.h) is
// left out. The content of a file tells whether it is JPEG or PNG. Images are turned upright as
// their EXIF data say.
//
// Files are read when their samples are gathered. A bad file then throws an IoError with its path.
// With OnBadRecord::skip every file is decoded once at the start and the bad ones are left out and
// listed, so that the number of samples is known and does not change. Throws IoError when the
// directory cannot be read, has no class or no readable image, or has a folder of images that is
// none of the given classes, and InvalidArgument for invalid sizes, types or numbers of workers.
ImageFolder load_image_folder(const std::string& directory, const ImageFolderOptions& options = {});

namespace data {

struct LabelledFile {
  std::string path;
  int32_t label = 0;
};

struct ImageList {
  std::vector<std::string> classes;
  std::vector<LabelledFile> files;  // by label, then by path
  std::vector<BadRecord> bad;       // what was skipped
  std::vector<std::string> empty;   // folders without files, which are not classes
};

// The two halves of load_image_folder(), for callers that choose among the files. They throw the
// same errors.
ImageList list_images(const std::string& directory, const ImageFolderOptions& options = {});
Dataset open_images(std::vector<LabelledFile> files, const ImageFolderOptions& options);

// Why a file is not an image that can be read completely; "" if it is one.
std::string image_flaw(const std::string& path, const DecodeLimits& limits, Image& scratch);

}  // namespace data

}  // namespace pando
