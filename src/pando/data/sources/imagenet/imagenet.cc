// SPDX-License-Identifier: MIT
#include "pando/data/sources/imagenet/imagenet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "pando/base/error.h"
#include "pando/data/sources/folder_view_impl.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/tfrecord_source.h"

namespace pando {

namespace {

namespace fs = std::filesystem;

ImageFolderOptions views_of(const ImagenetOptions& options, bool random) {
  return {.size = options.size,
          .random_views = random,
          .flip_on_device = options.flip_on_device,
          .box = options.box,
          .augmentation = options.augmentation,
          .short_side = options.short_side,
          .dtype = options.dtype,
          .map = options.map,
          .seed = options.seed,
          .limits = options.limits,
          .workers = options.workers};
}

// Views of validation need more of the options than random ones.
void check(const ImagenetOptions& options) {
  data::check_views(views_of(options, false), "ImageNet");
}

// Lists the shards that `found` (by number) lacks: the first few by name, then a count.
std::string missing_shards(const std::vector<bool>& found, ImagenetPart part) {
  constexpr int kMostNamed = 10;
  const int shards = static_cast<int>(found.size());
  std::vector<std::string> names;
  int missing = 0;
  for (int shard = 0; shard < shards; ++shard) {
    if (found[static_cast<size_t>(shard)]) continue;
    if (++missing <= kMostNamed) names.push_back(data::shard_name(part, shard, shards));
  }
  std::string text = join(names, ", ");
  if (missing > kMostNamed) text += concat(" and ", missing - kMostNamed, " more");
  return text;
}

// The edges that one key names; none when the key is absent or holds no list.
std::span<const float> edges_of(const Example& example, const char* key) {
  if (!example.has(key) || example.kind(key) == FeatureKind::none) return {};
  return example.floats(key);
}

std::vector<ObjectBox> objects_of(const Example& example) {
  constexpr std::array<const char*, 4> kKeys = {"image/object/bbox/ymin", "image/object/bbox/xmin",
                                                "image/object/bbox/ymax", "image/object/bbox/xmax"};
  std::array<std::span<const float>, 4> edges;
  for (size_t e = 0; e < 4; ++e) {
    edges[e] = edges_of(example, kKeys[e]);
    if (edges[e].size() != edges[0].size()) {
      throw IoError("feature '", kKeys[e], "' has ", edges[e].size(), " values, expected ",
                    edges[0].size(), " as in '", kKeys[0], "'");
    }
  }
  std::vector<ObjectBox> objects;
  for (size_t i = 0; i < edges[0].size(); ++i) {
    std::array<float, 4> box{};
    for (size_t e = 0; e < 4; ++e) {
      const float edge = edges[e][i];
      if (!std::isfinite(edge)) {
        throw IoError("feature '", kKeys[e], "': value ", i, " is ", edge, ", expected 0 to 1");
      }
      box[e] = std::clamp(edge, 0.0f, 1.0f);
    }
    if (edges[0][i] > edges[2][i] || edges[1][i] > edges[3][i]) {
      throw IoError("box ", i, " ends before it begins: ymin ", edges[0][i], ", xmin ", edges[1][i],
                    ", ymax ", edges[2][i], ", xmax ", edges[3][i]);
    }
    if (box[0] < box[2] && box[1] < box[3]) objects.push_back({box[0], box[1], box[2], box[3]});
  }
  return objects;
}

// Turns examples into samples. The functions of the data set hold copies of it.
struct Decoder {
  ImagenetPart part;
  ImagenetOptions options;
  int64_t classes;

  ImageFolderOptions views = views_of(options, part == ImagenetPart::train && options.random_views);

  std::vector<Field> fields() const { return data::view_fields(views, {"y", DType::i32, {}}); }

  void decode(const Example& example, const SampleView& sample) const {
    const ImagenetExample record = read_imagenet_example(example, classes);
    ImageReader reader(record.encoded, "feature 'image/encoded'", options.limits,
                       Orientation::as_stored);
    thread_local Image scratch;  // keeps its memory from image to image
    data::read_view(reader, views, sample, scratch, record.objects);
    sample.i32(1)[0] = record.label;
  }

  // Decodes the whole image, since a view may not need the damaged part.
  void check(const Example& example) const {
    const ImagenetExample record = read_imagenet_example(example, classes);
    decode_image(record.encoded, "feature 'image/encoded'", options.limits, Orientation::as_stored);
  }
};

RecordDataset open_part(const std::string& folder, const Decoder& decoder) {
  const ImagenetOptions& options = decoder.options;
  return open_tfrecords(
      imagenet_shards(folder, decoder.part),
      {.fields = decoder.fields(),
       .decode = [decoder](const Example& example,
                           const SampleView& sample) { decoder.decode(example, sample); },
       .on_bad_record = options.on_bad_record,
       .check = [decoder](const Example& example) { decoder.check(example); },
       .workers = options.workers,
       .index_folder = options.index_folder});
}

int64_t classes_of(const std::vector<std::string>& names) {
  return names.empty() ? kImagenetClasses : std::ssize(names);
}

}  // namespace

ImagenetExample read_imagenet_example(const Example& example, int64_t classes) {
  constexpr const char* kLabel = "image/class/label";
  constexpr const char* kText = "image/class/text";
  ImagenetExample record;
  const int64_t label = example.integer(kLabel);
  if (label < 1 || label > classes) {
    throw IoError("feature '", kLabel, "' is ", label, ", expected 1 to ", classes);
  }
  record.label = static_cast<int32_t>(label - 1);
  record.encoded = example.bytes("image/encoded");
  if (example.has(kText) && example.kind(kText) != FeatureKind::none) {
    record.text = example.text(kText);
  }
  record.objects = objects_of(example);
  return record;
}

std::vector<std::string> imagenet_shards(const std::string& folder, ImagenetPart part) {
  if (std::error_code error; !fs::is_directory(folder, error)) {
    throw IoError(
        folder,
        ": expected a folder with the record files of ImageNet, found none; make them with "
        "'pando data build-imagenet' or small ones with 'pando data make-imagenet'");
  }
  std::vector<bool> found;
  std::string first;
  for (const std::string& name : data::shard_names_in(folder)) {
    const data::ShardName parsed = data::parse_shard_name(name, part);
    if (parsed.shards == 0) continue;
    if (first.empty()) {
      first = name;
      found.resize(static_cast<size_t>(parsed.shards));
    }
    if (std::ssize(found) != parsed.shards) {
      throw IoError(folder, ": expected the shards of one set, found ", first, " and ", name,
                    ", which belong to two");
    }
    found[static_cast<size_t>(parsed.shard)] = true;
  }
  if (found.empty()) {
    throw IoError(folder, ": expected ",
                  part == ImagenetPart::train ? kImagenetTrainShards : kImagenetValidationShards,
                  " record files ", to_string(part),
                  "-*-of-*, found none; make them with 'pando data build-imagenet' or small ones "
                  "with 'pando data make-imagenet'");
  }
  const auto missing = std::ranges::count(found, false);
  if (missing > 0) {
    throw IoError(folder, ": ", missing, " of ", found.size(), " ", to_string(part),
                  missing == 1 ? " shards is missing: " : " shards are missing: ",
                  missing_shards(found, part));
  }
  std::vector<std::string> paths;
  const int shards = static_cast<int>(found.size());
  for (int shard = 0; shard < shards; ++shard) {
    paths.push_back((fs::path(folder) / data::shard_name(part, shard, shards)).string());
  }
  return paths;
}

std::vector<std::string> imagenet_class_names(const std::string& folder) {
  const std::string path = (fs::path(folder) / data::kImagenetLabels).string();
  if (std::error_code error; !fs::exists(path, error)) return {};
  const std::vector<uint8_t> bytes = data::read_file(path);
  const std::string text(bytes.begin(), bytes.end());
  std::vector<std::string> names;
  for (const std::string& line : split(trim(text), '\n')) {
    const std::string_view whole = trim(line);
    const std::string_view name = trim(whole.substr(whole.find('\t') + 1));
    if (name.empty()) {
      throw IoError(path, ": line ", names.size() + 1, " is empty, expected the name of a class");
    }
    names.emplace_back(name);
  }
  return names;
}

RecordDataset open_imagenet(const std::string& folder, ImagenetPart part,
                            const ImagenetOptions& options) {
  check(options);
  return open_part(folder, {part, options, classes_of(imagenet_class_names(folder))});
}

Imagenet load_imagenet(const std::string& folder, const ImagenetOptions& options) {
  check(options);
  std::vector<std::string> names = imagenet_class_names(folder);
  const int64_t classes = classes_of(names);
  return {.train = open_part(folder, {ImagenetPart::train, options, classes}),
          .validation = open_part(folder, {ImagenetPart::validation, options, classes}),
          .classes = classes,
          .class_names = std::move(names)};
}

}  // namespace pando
