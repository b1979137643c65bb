// SPDX-License-Identifier: MIT
#include "pando/data/sources/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "pando/data/parallel.h"
#include "pando/data/sources/clutter.h"
#include "pando/data/sources/folder_view_impl.h"
#include "pando/data/sources/gzip.h"

namespace pando {

namespace {

namespace fs = std::filesystem;

using data::LabelledFile;

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

// The reason why a file is not a readable image; no value if it is readable.
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

}  // namespace

ImageFolder load_image_folder(const std::string& directory, const ImageFolderOptions& options) {
  data::check_views(options);
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
  for (const std::string& name : folders_inside(directory)) {
    std::vector<std::string> paths = files_below((fs::path(directory) / name).string());
    if (paths.empty()) {
      list.empty.push_back(name);
      continue;
    }
    const int32_t label = label_of(directory, name, options.classes, list.classes);
    for (std::string& path : paths) list.files.push_back({std::move(path), label});
  }
  std::ranges::stable_sort(list.files, {}, &LabelledFile::label);
  if (list.files.empty() && list.empty.empty()) {
    throw IoError(directory, ": has no folders, expected one per class with the images in it");
  }
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
  check_views(options);
  const auto write_label = [](const LabelledFile& file, const SampleView& sample) {
    sample.i32(1)[0] = file.label;
  };
  return Dataset(std::make_shared<PictureFileSource<LabelledFile>>(
      std::move(files), Field{"y", DType::i32, {}}, write_label, options));
}

std::string image_flaw(const std::string& path, const DecodeLimits& limits, Image& scratch) {
  return flaw_of(path, limits, scratch).value_or("");
}

}  // namespace data

}  // namespace pando
