// The files of ImageNet as TFRecord shards: their names, and the keys of their records. Shared by
// the reader, the builder and the maker.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/data/image/geometry.h"

namespace pando {

enum class ImagenetPart { train, validation };

std::string_view to_string(ImagenetPart part);  // as in the names of the files

namespace data {

inline constexpr int kMostShards = 99999;
inline constexpr const char* kImagenetLabels = "labels.txt";

// "train-00003-of-01024".
std::string shard_name(ImagenetPart part, int shard, int shards);

// A file name of the form above.
struct ShardName {
  int shard = 0;
  int shards = 0;
};
// Returns shards 0 if the name does not belong to `part`.
ShardName parse_shard_name(std::string_view name, ImagenetPart part);

// The names of all shards in a folder, with any count; a missing folder has none.
std::vector<std::string> shard_names_in(const std::string& folder);

// Shard s of n has the samples [first_of_shard(s), first_of_shard(s + 1)) of `count`.
int64_t first_of_shard(int64_t count, int shard, int shards);

// The contents of one record; views, which only have to be valid during the call.
struct ImagenetRecord {
  std::span<const uint8_t> encoded;  // RGB or grey JPEG
  ImageSize size;
  int32_t label = 0;  // from 0; stored from 1
  std::string_view synset;
  std::string_view text;
  std::string_view file_name;
  std::span<const ObjectBox> objects;
};
std::vector<uint8_t> encode_imagenet_record(const ImagenetRecord& record);

// labels.txt: a line "synset<TAB>text" for each class, in the order of the labels.
struct ImagenetClass {
  std::string synset;
  std::string text;
};
void write_imagenet_labels(const std::string& folder, const std::vector<ImagenetClass>& classes);

// Makes a folder and those above it. Throws IoError.
void make_folder(const std::string& folder);

}  // namespace data
}  // namespace pando
