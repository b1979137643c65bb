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
#include "pando/base/paths.h"
#include "pando/base/random.h"
#include "pando/data/parallel.h"
#include "pando/data/sources/clutter.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/imagenet/boxes.h"
#include "pando/data/sources/validation_folder.h"

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
    if (!is_clutter(name)) {
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

// Kaggle's archive has the images and their annotations in these folders, and the lists above them.
constexpr const char* kKaggleImages = "ILSVRC/Data/CLS-LOC";
constexpr const char* kKaggleBoxes = "ILSVRC/Annotations/CLS-LOC";
constexpr const char* kKaggleSynsets = "LOC_synset_mapping.txt";

// Where the folder train is: in the source, or where Kaggle's archive has it.
fs::path images_of(const std::string& source) {
  const fs::path kaggle = fs::path(source) / kKaggleImages;
  return !is_folder(fs::path(source) / "train") && is_folder(kaggle / "train") ? kaggle
                                                                               : fs::path(source);
}

// The given file or folder, otherwise the first of the usual ones that exists.
std::string or_usual(const std::string& given, const fs::path& images,
                     const std::vector<const char*>& usual) {
  if (!given.empty()) return given;
  std::vector<fs::path> places = {images};
  std::error_code unknown;
  const fs::path whole = fs::weakly_canonical(images, unknown);
  if (whole.generic_string().ends_with(kKaggleImages)) {
    places.push_back(whole.parent_path().parent_path().parent_path());
  }
  for (const fs::path& place : places) {
    for (const char* name : usual) {
      std::error_code error;
      if (fs::exists(place / name, error)) return (place / name).string();
    }
  }
  return "";
}

// Splits "synset<TAB>text", or "n01440764 text" as Kaggle's list has it.
struct SynsetLine {
  std::string synset;
  std::string text;

  explicit SynsetLine(const std::string& line) {
    constexpr size_t kWordnet = 9;  // the letter n and 8 digits
    size_t end = line.find('\t');
    const bool by_space = end == line.npos && line.starts_with('n') &&
                          line.find_first_not_of("0123456789", 1) == kWordnet &&
                          line[kWordnet] == ' ';
    if (by_space) end = kWordnet;
    synset = std::string(trim(line.substr(0, end)));
    if (end != line.npos) text = std::string(trim(line.substr(end + 1)));
  }
};

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
    SynsetLine parsed(line);
    if (parsed.text.empty()) {
      throw IoError(path, ": line ", number, " is '", line,
                    "', expected a synset, a tab and a text");
    }
    texts[parsed.synset] = std::move(parsed.text);
  }
  for (ImagenetClass& one : classes) {
    if (const auto found = texts.find(one.synset); found != texts.end()) one.text = found->second;
  }
}

// Kaggle's list of labels: lines "image,synset xmin ymin xmax ymax ..." in any order.
std::map<std::string, std::string, std::less<>> read_solution(
    const std::string& path, const std::vector<std::string>& lines) {
  std::map<std::string, std::string, std::less<>> synset_of;
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t comma = lines[i].find(',');
    const std::string_view rest =
        trim(std::string_view(lines[i]).substr(std::min(comma, lines[i].size())));
    const std::string synset(trim(rest.substr(std::min<size_t>(1, rest.size()))));
    if (comma == 0 || synset.empty()) {
      throw IoError(path, ": line ", i + 1, " is '", lines[i],
                    "', expected an image, a comma and a synset");
    }
    synset_of[lines[i].substr(0, comma)] = synset.substr(0, synset.find(' '));
  }
  return synset_of;
}

class Lister {
 public:
  Lister(const std::string& source, const ImagenetSideFiles& files)
      : images_(images_of(source)),
        files_{.synsets = or_usual(files.synsets, images_, {"synset_labels.txt", kKaggleSynsets}),
               .metadata =
                   or_usual(files.metadata, images_, {"imagenet_metadata.txt", kKaggleSynsets}),
               .validation_labels =
                   or_usual(files.validation_labels, images_,
                            {"imagenet_2012_validation_synset_labels.txt", "LOC_val_solution.csv"}),
               .bounding_boxes = or_usual(files.bounding_boxes, images_,
                                          {"imagenet_2012_bounding_boxes.csv", kKaggleBoxes})} {}

  ImagenetInputs list(int workers) {
    ImagenetInputs inputs;
    const fs::path train = images_ / "train";
    const std::vector<std::string> folders = folders_with_files(train);
    if (folders.empty()) {
      throw IoError(train.string(), ": has no folders with images, expected one for each synset");
    }
    const bool listed = !files_.synsets.empty();
    for (const std::string& line : listed ? read_lines(files_.synsets) : folders) {
      const std::string synset = listed ? SynsetLine(line).synset : line;
      inputs.classes.push_back({synset, synset});
    }
    labels_ = label_table(inputs.classes, listed ? files_.synsets : train.string());
    read_texts(files_.metadata, inputs.classes);
    inputs.train = list_classes(train, folders);
    check_all_classes(train, inputs.train);
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

  static std::vector<std::string> folders_with_files(const fs::path& folder) {
    std::vector<std::string> names = list_folder(folder).folders;
    std::erase_if(
        names, [&](const std::string& name) { return list_folder(folder / name).files.empty(); });
    return names;
  }

  // <folder>/<synset>/*, in the order of the labels.
  std::vector<ImagenetInput> list_classes(const fs::path& folder,
                                          const std::vector<std::string>& folders) const {
    std::vector<ImagenetInput> inputs;
    for (const std::string& synset : folders) {
      const int32_t label = label_of(synset, folder.string());
      for (const std::string& name : list_folder(folder / synset).files) {
        inputs.push_back({.path = (folder / synset / name).string(), .label = label});
      }
    }
    std::ranges::stable_sort(inputs, {}, &ImagenetInput::label);
    return inputs;
  }

  void check_all_classes(const fs::path& folder, const std::vector<ImagenetInput>& inputs) const {
    std::vector<bool> found(labels_.size());
    for (const ImagenetInput& input : inputs) found[static_cast<size_t>(input.label)] = true;
    for (const auto& [synset, label] : labels_) {
      if (found[static_cast<size_t>(label)]) continue;
      throw IoError((folder / synset).string(), ": found no image of this class, which ",
                    files_.synsets, " lists; to build fewer classes, list them with --synsets");
    }
  }

  std::vector<ImagenetInput> list_validation() const {
    const fs::path folder = find_validation_folder(images_);
    if (folder.empty()) {
      throw IoError(images_.string(), ": has no folder ", kValidationFolderNames,
                    " beside train, expected one with the validation images");
    }
    const std::vector<std::string> folders = folders_with_files(folder);
    if (!folders.empty()) return list_classes(folder, folders);
    const std::vector<std::string> images = list_folder(folder).files;
    if (images.empty()) throw IoError(folder.string(), ": found no image");
    if (files_.validation_labels.empty()) {
      throw IoError(folder.string(),
                    ": the images are not in folders of their synsets; name LOC_val_solution.csv "
                    "or a file with one synset per line with --validation-labels");
    }
    std::vector<ImagenetInput> inputs;
    for (const std::string& name : images) inputs.push_back({.path = (folder / name).string()});
    const std::vector<std::string> lines = read_lines(files_.validation_labels);
    lines[0].starts_with("ImageId,") ? label_by_name(lines, inputs) : label_by_order(lines, inputs);
    return inputs;
  }

  void label_by_order(const std::vector<std::string>& synsets,
                      std::vector<ImagenetInput>& inputs) const {
    if (synsets.size() != inputs.size()) {
      throw IoError(
          files_.validation_labels, ": expected ", inputs.size(), " lines, one for each image in ",
          fs::path(inputs[0].path).parent_path().string(), ", got ", synsets.size(), " lines");
    }
    for (size_t i = 0; i < synsets.size(); ++i) {
      inputs[i].label = label_of(synsets[i], concat(files_.validation_labels, ": line ", i + 1));
    }
  }

  void label_by_name(const std::vector<std::string>& lines,
                     std::vector<ImagenetInput>& inputs) const {
    const auto synset_of = read_solution(files_.validation_labels, lines);
    for (ImagenetInput& input : inputs) {
      const std::string image = fs::path(input.path).stem().string();
      const auto found = synset_of.find(image);
      if (found == synset_of.end()) {
        throw IoError(files_.validation_labels, ": has no line of ", image, ", expected one for ",
                      input.path);
      }
      input.label = label_of(found->second, concat(files_.validation_labels, ": ", image));
    }
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

  fs::path images_;
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
