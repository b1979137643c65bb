// SPDX-License-Identifier: MIT
#include "pando/data/sources/imagenet/format.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "pando/base/error.h"
#include "pando/base/new_file.h"
#include "pando/data/tfrecord/example.h"

namespace pando {

namespace fs = std::filesystem;

std::string_view to_string(ImagenetPart part) {
  return part == ImagenetPart::train ? "train" : "validation";
}

namespace data {

namespace {

// Exactly five digits; -1 for anything else.
int five_digits(std::string_view text) {
  const bool digits =
      text.size() == 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return digits ? static_cast<int>(*parse_int(text)) : -1;
}

}  // namespace

std::string shard_name(ImagenetPart part, int shard, int shards) {
  std::array<char, 40> name{};
  std::snprintf(name.data(), name.size(), "%s-%05d-of-%05d", to_string(part).data(), shard, shards);
  return name.data();
}

ShardName parse_shard_name(std::string_view name, ImagenetPart part) {
  const std::string_view prefix = to_string(part);
  constexpr size_t kTail = std::string_view("-00000-of-00000").size();
  if (!name.starts_with(prefix) || name.size() != prefix.size() + kTail) return {};
  name.remove_prefix(prefix.size());
  const int shard = five_digits(name.substr(1, 5));
  const int shards = five_digits(name.substr(10));
  const bool fits = name[0] == '-' && name.substr(6, 4) == "-of-" && shard >= 0 && shard < shards;
  return fits ? ShardName{shard, shards} : ShardName{};
}

std::vector<std::string> shard_names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_shard = parse_shard_name(name, ImagenetPart::train).shards > 0 ||
                          parse_shard_name(name, ImagenetPart::validation).shards > 0;
    if (is_shard) names.push_back(name);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw IoError(folder, ": cannot list the folder: ", error.message());
  }
  std::ranges::sort(names);
  return names;
}

int64_t first_of_shard(int64_t count, int shard, int shards) { return count * shard / shards; }

std::vector<uint8_t> encode_imagenet_record(const ImagenetRecord& record) {
  std::array<std::vector<float>, 4> edges;
  for (const ObjectBox& box : record.objects) {
    edges[0].push_back(box.x_min);
    edges[1].push_back(box.y_min);
    edges[2].push_back(box.x_max);
    edges[3].push_back(box.y_max);
  }
  const int64_t label = int64_t{record.label} + 1;
  ExampleBuilder example;
  example.bytes("image/encoded", record.encoded)
      .ints("image/height", {record.size.height})
      .ints("image/width", {record.size.width})
      .text("image/colorspace", "RGB")
      .ints("image/channels", {3})
      .text("image/format", "JPEG")
      .text("image/filename", record.file_name)
      .ints("image/class/label", {label})
      .text("image/class/synset", record.synset)
      .text("image/class/text", record.text)
      .floats("image/object/bbox/xmin", std::move(edges[0]))
      .floats("image/object/bbox/ymin", std::move(edges[1]))
      .floats("image/object/bbox/xmax", std::move(edges[2]))
      .floats("image/object/bbox/ymax", std::move(edges[3]))
      .ints("image/object/bbox/label", std::vector<int64_t>(record.objects.size(), label));
  return example.encode();
}

void write_imagenet_labels(const std::string& folder, const std::vector<ImagenetClass>& classes) {
  std::string text;
  for (const ImagenetClass& one : classes) text += concat(one.synset, "\t", one.text, "\n");
  NewFile file((fs::path(folder) / kImagenetLabels).string());
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError(folder, ": cannot make the folder: ", error.message());
}

}  // namespace data
}  // namespace pando
