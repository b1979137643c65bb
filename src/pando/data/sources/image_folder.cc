// SPDX-License-Identifier: MIT
#include "pando/data/sources/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "pando/data/parallel.h"
#include "pando/data/sources/clutter.h"
#include "pando/data/sources/gzip.h"

namespace pando {

namespace {

namespace fs = std::filesystem;

using data::LabelledFile;

std::vector<std::string> folders_in(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(directory, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code unknown;  // an entry that cannot be examined is no class
    const std::string name = at->path().filename().string();
    if (!data::is_clutter(name) && at->is_directory(unknown)) names.push_back(name);
  }
  if (error) throw IoError(directory, ": cannot list the folder: ", error.message());
  if (names.empty()) {
    throw IoError(directory, ": has no folders, expected one per class with the images in it");
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> files_of(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator at(folder, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code unknown;  // reading the file reports the error
    if (data::is_clutter(at->path().filename().string())) {
      at.disable_recursion_pending();
    } else if (!at->is_directory(unknown)) {
      files.push_back(at->path().string());
    }
  }
  if (error) throw IoError(folder.string(), ": cannot list the folder: ", error.message());
  std::sort(files.begin(), files.end());
  return files;
}

// The label of a folder: its place in the given classes or, if none are given, the next one.
int32_t label_of(const std::string& directory, const std::string& name,
                 const std::vector<std::string>& given, std::vector<std::string>& classes) {
  if (given.empty()) {
    classes.push_back(name);
    return static_cast<int32_t>(classes.size() - 1);
  }
  const auto found = std::ranges::find(given, name);
  if (found != given.end()) return static_cast<int32_t>(found - given.begin());
  throw IoError(directory, ": the folder '", name, "' is not one of the ", given.size(),
                " classes of training; remove it, or add such a folder of training images");
}

// Why a file is not a readable image; nothing if it is one.
std::optional<std::string> flaw_of(const std::string& path, const DecodeLimits& limits,
                                   Image& scratch) {
  try {
    const std::vector<uint8_t> bytes = data::read_file(path);
    ImageReader(bytes, path, limits).read(scratch);
    return std::nullopt;
  } catch (const Error& error) {
    const std::string text = error.what();
    const std::string place = path + ": ";
    return text.starts_with(place) ? text.substr(place.size()) : text;
  }
}

// The flaws of all files, found by several threads.
std::vector<std::optional<std::string>> find_flaws(const std::vector<LabelledFile>& files,
                                                   const ImageFolderOptions& options) {
  std::vector<std::optional<std::string>> flaws(files.size());
  data::for_each_item(files.size(), options.workers, [&](size_t i) {
    Image scratch;
    flaws[i] = flaw_of(files[i].path, options.limits, scratch);
  });
  return flaws;
}

// Leaves out the bad files and returns them.
std::vector<BadRecord> drop_bad(std::vector<LabelledFile>& files,
                                const ImageFolderOptions& options) {
  const std::vector<std::optional<std::string>> flaws = find_flaws(files, options);
  std::vector<BadRecord> bad;
  std::vector<LabelledFile> good;
  for (size_t i = 0; i < files.size(); ++i) {
    if (flaws[i]) {
      bad.push_back({.file = files[i].path, .offset = 0, .why = *flaws[i]});
    } else {
      good.push_back(std::move(files[i]));
    }
  }
  files = std::move(good);
  return bad;
}

bool tells_flips(const ImageFolderOptions& options) {
  return options.random_views && options.flip_on_device;
}

std::vector<Field> fields_of(const ImageFolderOptions& options) {
  std::vector<Field> fields = {{"x", options.dtype, {options.size.height, options.size.width, 3}},
                               {"y", DType::i32, {}}};
  if (tells_flips(options)) fields.push_back({"flip", DType::u8, {}});
  return fields;
}

class ImageFolderSource : public DataSource {
 public:
  ImageFolderSource(std::vector<LabelledFile> files, const ImageFolderOptions& options)
      : DataSource(fields_of(options), static_cast<int64_t>(files.size())),
        files_(std::move(files)),
        options_(options) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    Image scratch;
    for (size_t i = 0; i < indices.size(); ++i) {
      const SampleView sample(fields(), rows, static_cast<int64_t>(i), {epoch, indices[i]});
      const LabelledFile& file = files_[static_cast<size_t>(indices[i])];
      read_view(file.path, sample, scratch);
      sample.i32(1)[0] = file.label;
    }
  }

 private:
  void read_view(const std::string& path, const SampleView& sample, Image& scratch) const {
    const std::vector<uint8_t> bytes = data::read_file(path);
    ImageReader reader(bytes, path, options_.limits);
    const PixelTarget to = options_.dtype == DType::u8 ? PixelTarget(sample.u8(0))
                                                       : PixelTarget(sample.f32(0), options_.map);
    if (options_.random_views) {
      const bool flip = read_train_view(
          reader, sample_random(options_.seed, sample.epoch(), sample.index()), {},
          {.size = options_.size, .box = options_.box, .flip_on_device = options_.flip_on_device},
          scratch, to);
      if (tells_flips(options_)) sample.u8(2)[0] = flip ? 1 : 0;
    } else {
      read_eval_view(reader, {.size = options_.size, .short_side = options_.short_side}, scratch,
                     to);
    }
  }

  std::vector<LabelledFile> files_;
  ImageFolderOptions options_;
};

void check(const ImageFolderOptions& options) {
  if (options.dtype != DType::f32 && options.dtype != DType::u8) {
    throw InvalidArgument("image folder: type ", to_string(options.dtype), ", expected f32 or u8");
  }
  if (options.size.height < 1 || options.size.width < 1) {
    throw InvalidArgument("image folder: size ", options.size, ", expected at least 1x1");
  }
  if (!options.random_views &&
      options.short_side < std::max(options.size.height, options.size.width)) {
    throw InvalidArgument("image folder: short side ", options.short_side,
                          ", expected at least the size ", options.size);
  }
  if (options.workers < 1) {
    throw InvalidArgument("image folder: ", options.workers, " workers, expected at least 1");
  }
}

}  // namespace

ImageFolder load_image_folder(const std::string& directory, const ImageFolderOptions& options) {
  check(options);
  data::ImageList list = data::list_images(directory, options);
  std::vector<std::string> paths;
  for (const LabelledFile& file : list.files) paths.push_back(file.path);
  return {.dataset = data::open_images(std::move(list.files), options),
          .classes = std::move(list.classes),
          .files = std::move(paths),
          .bad = std::move(list.bad)};
}

namespace data {

ImageList list_images(const std::string& directory, const ImageFolderOptions& options) {
  ImageList list{.classes = options.classes};
  for (const std::string& name : folders_in(directory)) {
    std::vector<std::string> paths = files_of(fs::path(directory) / name);
    if (paths.empty()) {
      list.empty.push_back(name);
      continue;
    }
    const int32_t label = label_of(directory, name, options.classes, list.classes);
    for (std::string& path : paths) list.files.push_back({std::move(path), label});
  }
  std::ranges::stable_sort(list.files, {}, &LabelledFile::label);
  if (list.files.empty()) {
    throw IoError(directory, ": its folders (", join(list.empty, ", "),
                  ") have no files, expected images of a class in each");
  }
  if (options.on_bad_record == OnBadRecord::skip) list.bad = drop_bad(list.files, options);
  if (list.files.empty()) {
    throw IoError(directory, ": none of ", list.bad.size(),
                  " files is a readable image; the first is ", to_string(list.bad[0]));
  }
  return list;
}

Dataset open_images(std::vector<LabelledFile> files, const ImageFolderOptions& options) {
  check(options);
  return Dataset(std::make_shared<ImageFolderSource>(std::move(files), options));
}

std::string image_flaw(const std::string& path, const DecodeLimits& limits, Image& scratch) {
  return flaw_of(path, limits, scratch).value_or("");
}

}  // namespace data

}  // namespace pando
