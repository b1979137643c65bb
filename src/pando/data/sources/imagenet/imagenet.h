// ImageNet (ILSVRC2012) as a folder of TFRecord shards: train-00000-of-01024 to
// train-01023-of-01024, validation-00000-of-00128 to validation-00127-of-00128 and labels.txt.
//
//   const Imagenet imagenet = load_imagenet(folder, {.workers = 8, .index_folder = folder});
//   auto stream = stream_records(imagenet.train, {.seed = 1}).batch(64).repeat(90).prefetch(4);
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/data/image/views.h"
#include "pando/data/sources/imagenet/format.h"
#include "pando/data/sources/record_dataset.h"
#include "pando/data/tfrecord/example.h"

namespace pando {

inline constexpr int64_t kImagenetClasses = 1000;
inline constexpr int64_t kImagenetTrain = 1281167;  // images
inline constexpr int64_t kImagenetValidation = 50000;
inline constexpr int kImagenetTrainShards = 1024;
inline constexpr int kImagenetValidationShards = 128;

struct ImagenetOptions {
  ImageSize size = {224, 224};
  bool random_views = true;      // training gets a distorted box, mirrored at random
  bool flip_on_device = false;   // random views have the field "flip", u8, and are not mirrored
  DistortedBoxOptions box = {};  // limits of random views
  ViewAugmentation augmentation = {};  // changes of random views
  int64_t short_side = 256;            // other views: resized to it, then the middle is taken
  DType dtype = DType::f32;            // f32, mapped by `map`, or u8
  ChannelMap map = normalise_imagenet();
  uint64_t seed = 0;  // decides the random views
  OnBadRecord on_bad_record = OnBadRecord::error;
  int workers = 1;           // threads that read the shards when they are opened
  std::string index_folder;  // keeps indices of the records, for quick opening; "": none
  DecodeLimits limits = {};
};

struct Imagenet {
  RecordDataset train;  // x f32 or u8 [height, width, 3], y i32 from 0 on
  RecordDataset validation;
  int64_t classes = kImagenetClasses;
  std::vector<std::string> class_names;  // the names of the labels; empty without labels.txt
};

// Both parts. The number of classes is that of the lines of labels.txt, 1000 without it; a label
// outside of them is a bad record, as are an image that cannot be read and invalid boxes. With
// OnBadRecord::skip every image is decoded once. A random view is a pure function of (seed, epoch,
// index of the record); the order is that of the files, see stream_records().
//
// Any number of shards is accepted if all of them are there. Throws IoError when shards are
// missing, which it names, or belong to two sets, and what open_tfrecords() throws; InvalidArgument
// for invalid options.
Imagenet load_imagenet(const std::string& folder, const ImagenetOptions& options = {});
// One of the parts.
RecordDataset open_imagenet(const std::string& folder, ImagenetPart part,
                            const ImagenetOptions& options = {});

// The shards of a part, in order. Throws IoError as above.
std::vector<std::string> imagenet_shards(const std::string& folder, ImagenetPart part);
// The classes in labels.txt, each "text" of a line "synset<TAB>text" or the whole of another line;
// none when there is no such file. Throws IoError for a file without lines or with an empty one.
std::vector<std::string> imagenet_class_names(const std::string& folder);

// The contents of a record. Views of the example, which must outlive them.
struct ImagenetExample {
  std::span<const uint8_t> encoded;  // JPEG or PNG
  int32_t label = 0;                 // from 0 on
  std::string_view text;             // "" if the record has none
  std::vector<ObjectBox> objects;    // inside the image and with an area
};
// Checks everything but the image itself. Boxes are cut off at the edges of the image, and boxes
// without area are left out. Throws IoError, which names the key and what was expected and found.
ImagenetExample read_imagenet_example(const Example& example, int64_t classes = kImagenetClasses);

}  // namespace pando
