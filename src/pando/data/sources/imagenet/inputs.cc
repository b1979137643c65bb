// SPDX-License-Identifier: MIT
#include "pando/data/sources/imagenet/inputs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <sys/stat.h>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/data/parallel.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/imagenet/boxes.h"

namespace pando::data {

namespace {

namespace fs = std::filesystem;

struct FolderContent {
  std::vector<std::string> folders;  // names, sorted
  std::vector<std::string> files;
};

FolderContent list_folder(const fs::path& folder) {
  FolderContent content;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;  // reading the entry reports the error
    if (!name.starts_with(".")) {
      (at->is_directory(unknown) ? content.folders : content.files).push_back(name);
    }
  }
  if (error) throw IoError(folder.string(), ": cannot list the folder: ", error.message());
  std::ranges::sort(content.folders);
  std::ranges::sort(content.files);
  return content;
}

// The lines of a text file without the empty ones at its end.
std::vector<std::string> read_lines(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  const std::string text(bytes.begin(), bytes.end());
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n')) lines.emplace_back(trim(line));
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.empty()) throw IoError(path, ": expected at least one line, found none");
  return lines;
}

std::string or_usual(const std::string& given, const std::string& source, const char* usual) {
  const fs::path path = fs::path(source) / usual;
  std::error_code error;
  return given.empty() && fs::exists(path, error) ? path.string() : given;
}

// The label of each class by the name that folders and lists of labels use.
using LabelOf = std::map<std::string, int32_t, std::less<>>;

LabelOf label_table(const std::vector<ImagenetClass>& classes, const std::string& place) {
  LabelOf labels;
  for (const ImagenetClass& one : classes) {
    if (one.synset.empty()) {
      throw IoError(place, ": line ", labels.size() + 1, " is empty, expected a synset");
    }
    if (!labels.emplace(one.synset, static_cast<int32_t>(labels.size())).second) {
      throw IoError(place, ": synset '", one.synset, "' occurs twice, expected each class once");
    }
  }
  return labels;
}

void read_texts(const std::string& path, std::vector<ImagenetClass>& classes) {
  for (ImagenetClass& one : classes) one.text = one.synset;
  if (path.empty()) return;
  std::map<std::string, std::string, std::less<>> texts;
  int64_t number = 0;
  for (const std::string& line : read_lines(path)) {
    ++number;
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) {
      throw IoError(path, ": line ", number, " is '", line,
                    "', expected a synset, a tab and a text");
    }
    texts[line.substr(0, tab)] = std::string(trim(line.substr(tab + 1)));
  }
  for (ImagenetClass& one : classes) {
    if (const auto found = texts.find(one.synset); found != texts.end()) one.text = found->second;
  }
}

class Lister {
 public:
  Lister(std::string source, const ImagenetSideFiles& files)
      : source_(std::move(source)),
        files_{.synsets = or_usual(files.synsets, source_, "synset_labels.txt"),
               .metadata = or_usual(files.metadata, source_, "imagenet_metadata.txt"),
               .validation_labels = or_usual(files.validation_labels, source_,
                                             "imagenet_2012_validation_synset_labels.txt"),
               .bounding_boxes =
                   or_usual(files.bounding_boxes, source_, "imagenet_2012_bounding_boxes.csv")} {}

  ImagenetInputs list(int workers) {
    ImagenetInputs inputs;
    const fs::path train = fs::path(source_) / "train";
    const FolderContent classes = list_folder(train);
    if (classes.folders.empty()) {
      throw IoError(train.string(), ": has no folders, expected one for each synset");
    }
    const bool listed = !files_.synsets.empty();
    for (const std::string& synset : listed ? read_lines(files_.synsets) : classes.folders) {
      inputs.classes.push_back({synset, synset});
    }
    labels_ = label_table(inputs.classes, listed ? files_.synsets : train.string());
    read_texts(files_.metadata, inputs.classes);
    inputs.train = list_classes(train, classes.folders);
    inputs.validation = list_validation();
    const BoxTable boxes(files_.bounding_boxes);
    for (auto* part : {&inputs.train, &inputs.validation}) {
      for_each_item(part->size(), workers,
                    [&](size_t i) { complete((*part)[i], inputs.classes, boxes); });
    }
    return inputs;
  }

 private:
  int32_t label_of(const std::string& synset, const std::string& place) const {
    const auto found = labels_.find(synset);
    if (found != labels_.end()) return found->second;
    throw IoError(place, ": synset '", synset, "' is not one of the ", labels_.size(),
                  " classes of ", files_.synsets.empty() ? "the folder train" : files_.synsets);
  }

  // <folder>/<synset>/*, for every class.
  std::vector<ImagenetInput> list_classes(const fs::path& folder,
                                          const std::vector<std::string>& folders) const {
    std::vector<std::vector<std::string>> of_class(labels_.size());
    for (const std::string& synset : folders) {
      auto& paths = of_class[static_cast<size_t>(label_of(synset, folder.string()))];
      for (const std::string& name : list_folder(folder / synset).files) {
        paths.push_back((folder / synset / name).string());
      }
    }
    std::vector<ImagenetInput> inputs;
    for (const auto& [synset, label] : labels_) {
      if (of_class[static_cast<size_t>(label)].empty()) {
        throw IoError((folder / synset).string(), ": found no image of this class");
      }
    }
    for (size_t label = 0; label < of_class.size(); ++label) {
      for (std::string& path : of_class[label]) {
        inputs.push_back({.path = std::move(path), .label = static_cast<int32_t>(label)});
      }
    }
    return inputs;
  }

  std::vector<ImagenetInput> list_validation() const {
    const fs::path folder = fs::path(source_) / "validation";
    const FolderContent content = list_folder(folder);
    if (!content.folders.empty()) return list_classes(folder, content.folders);
    if (content.files.empty()) throw IoError(folder.string(), ": found no image");
    if (files_.validation_labels.empty()) {
      throw IoError(
          folder.string(),
          ": the images are not in folders of their synsets; name a file with one synset per "
          "line with --validation-labels");
    }
    const std::vector<std::string> synsets = read_lines(files_.validation_labels);
    if (synsets.size() != content.files.size()) {
      throw IoError(files_.validation_labels, ": expected ", content.files.size(),
                    " lines, one for each image in ", folder.string(), ", got ", synsets.size(),
                    " lines");
    }
    std::vector<ImagenetInput> inputs;
    for (size_t i = 0; i < synsets.size(); ++i) {
      const std::string place = concat(files_.validation_labels, ": line ", i + 1);
      inputs.push_back(
          {.path = (folder / content.files[i]).string(), .label = label_of(synsets[i], place)});
    }
    return inputs;
  }

  static void complete(ImagenetInput& input, const std::vector<ImagenetClass>& classes,
                       const BoxTable& boxes) {
    struct stat status = {};
    if (::stat(input.path.c_str(), &status) == 0) {  // otherwise reading it reports the error
      input.bytes = static_cast<uint64_t>(status.st_size);
      input.changed_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    }
    input.objects = boxes.of(classes[static_cast<size_t>(input.label)].synset,
                             fs::path(input.path).filename().string());
  }

  std::string source_;
  ImagenetSideFiles files_;
  LabelOf labels_;
};

std::string_view bytes_of(std::span<const ObjectBox> boxes) {
  return {reinterpret_cast<const char*>(boxes.data()), boxes.size_bytes()};
}

}  // namespace

ImagenetInputs list_imagenet_inputs(const std::string& source, const ImagenetSideFiles& files,
                                    int workers) {
  return Lister(source, files).list(workers);
}

uint64_t fingerprint(const ImagenetInputs& inputs) {
  uint64_t key = hash_name("imagenet inputs");
  for (const ImagenetClass& one : inputs.classes) {
    key = mix_keys(mix_keys(key, hash_name(one.synset)), hash_name(one.text));
  }
  for (const auto* part : {&inputs.train, &inputs.validation}) {
    key = mix_keys(key, part->size());
    for (const ImagenetInput& input : *part) {
      key = mix_keys(mix_keys(key, hash_name(input.path)), static_cast<uint64_t>(input.label));
      key = mix_keys(mix_keys(key, input.bytes), static_cast<uint64_t>(input.changed_ns));
      key = mix_keys(key, hash_name(bytes_of(input.objects)));
    }
  }
  return key;
}

}  // namespace pando::data
