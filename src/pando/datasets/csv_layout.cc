// Pictures anywhere below a folder, with their labels in labels.csv: one or several classes each.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "pando/base/paths.h"
#include "pando/data/sources/class_names.h"
#include "pando/data/sources/labelled_images.h"
#include "pando/datasets/fingerprint.h"
#include "pando/datasets/image_layouts_impl.h"
#include "pando/datasets/tools/places_impl.h"
#include "pando/datasets/tools/verify_impl.h"
#include "pando/datasets/validation_split.h"

namespace pando::datasets {

namespace {

namespace fs = std::filesystem;

using data::LabelClasses;
using data::LabelTable;
using data::TaggedFile;
using data::TaggedList;

constexpr const char* kTableName = "labels.csv";

bool has_table(const std::string& folder) { return is_plain_file(fs::path(folder) / kTableName); }

// A part has a table of its own, or the table of the data set counts for all parts.
bool is_tagged(const std::string& root, const std::string& part) {
  return has_table(part) || has_table(root);
}

struct TablePart {
  LabelTable table;
  data::TaggedPart where;
};

TablePart table_of(const std::string& root, const std::string& part) {
  const bool own = has_table(part);
  if (!own && !has_table(root)) {
    throw IoError(part, ": expected the file ", kTableName, " in it or in ", root);
  }
  const std::string folder = own ? part : root;
  return {.table = data::read_label_table((fs::path(folder) / kTableName).string()),
          .where = {.folder = folder, .below = own || part == root ? "" : part}};
}

Dataset open_files(const std::vector<TaggedFile>& files, const LabelClasses& classes, bool several,
                   const ImageFolderOptions& options) {
  if (several) return open_tagged_images(files, classes.count, options);
  std::vector<data::LabelledFile> single;
  for (const TaggedFile& file : files) single.push_back({file.path, file.labels[0]});
  return data::open_images(std::move(single), options);
}

// The fraction of every class where each picture has one; otherwise of all pictures.
void cut_list(TaggedList& train, TaggedList& validation, bool several, double fraction) {
  std::vector<int32_t> labels;
  for (const TaggedFile& file : train.files) labels.push_back(several ? 0 : file.labels[0]);
  const SplitIndices split = split_by_class(labels, fraction);
  const std::vector<TaggedFile> all = std::move(train.files);
  train.files.clear();
  for (const int64_t i : split.train) train.files.push_back(all[static_cast<size_t>(i)]);
  for (const int64_t i : split.validation) validation.files.push_back(all[static_cast<size_t>(i)]);
}

// The class numbers of all pictures, which depend on the table and on the names of the classes.
std::string text_of_labels(const std::vector<TaggedFile>& files) {
  std::string text;
  for (const TaggedFile& file : files) {
    for (const int32_t label : file.labels) text += concat(label, " ");
    text += "\n";
  }
  return text;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& text : from) {
    if (std::ranges::find(to, text) == to.end()) to.push_back(text);
  }
}

TrainingData load_tagged(const ImageParts& parts, const DataLoadOptions& load) {
  const ImageFolderOptions options = training_views(load);
  const bool cuts = parts.validation.empty();
  const TablePart first = table_of(parts.root, parts.train);
  const LabelClasses classes =
      data::classes_of_table(first.table, data::read_class_names(parts.root));
  TaggedList train = data::find_tagged(first.table, first.where, classes, options);
  TaggedList validation;
  bool several = first.table.several;
  if (cuts) {
    cut_list(train, validation, several, load.validation_split);
  } else {
    const TablePart second = table_of(parts.root, parts.validation);
    validation = data::find_tagged(second.table, second.where, classes, options);
    several = several || second.table.several;
  }
  std::vector<std::string> paths;
  for (const TaggedFile& file : train.files) paths.push_back(file.path);
  TrainingData data{
      .sets =
          open_both(options, classes.count, [&](bool of_train, const ImageFolderOptions& views) {
            return open_files(of_train ? train.files : validation.files, classes, several, views);
          })};
  data.task = several ? "multilabel" : "classification";
  data.class_names = classes.names;
  data.skipped = std::move(train.bad);
  std::set<std::string> known;
  for (const BadRecord& record : data.skipped) known.insert(to_string(record));
  for (const BadRecord& record : validation.bad) {  // one table may be that of both parts
    if (known.insert(to_string(record)).second) data.skipped.push_back(record);
  }
  append(data.warnings, train.warnings);
  append(data.warnings, validation.warnings);
  data.fingerprint = fingerprint_of_files(parts.root, paths, text_of_labels(train.files));
  data.front = view_front(load);
  return data;
}

void report_tagged_part(const PartFolder& part, const TaggedList& list,
                        const VerifyOptions& options, ReportBuilder& builder) {
  FileFindings folder = findings_of_folder(part.path, options);
  for (const BadRecord& record : list.bad) folder.bad.add(record);
  for (const TaggedFile& file : list.files) {
    folder.file.bytes += size_of_file(file.path);
    folder.sample(-1);
    for (const int32_t label : file.labels) ++folder.labels[label];
  }
  builder.add(std::move(folder));
  for (const std::string& warning : list.warnings) builder.note(warning);
}

VerifyReport verify_tagged(const std::string& path, const VerifyOptions& options) {
  LabelClasses classes;
  return verify_parts(path, options, [&](const PartFolder& part, ReportBuilder& builder) {
    try {
      const TablePart found = table_of(path, part.path);
      if (classes.count == 0) {  // of the training part
        classes = data::classes_of_table(found.table, data::read_class_names(path));
        builder.set_classes(classes.names);
      }
      const TaggedList list = data::find_tagged(found.table, found.where, classes,
                                                {.on_bad_record = OnBadRecord::skip,
                                                 .limits = options.limits,
                                                 .workers = options.workers});
      report_tagged_part(part, list, options, builder);
    } catch (const IoError& error) {
      builder.add_bad({part.path, 0, without_place(error.what(), part.path)});
    }
  });
}

struct OnePart {
  TaggedList list;
  LabelClasses classes;
  bool several = false;
};

// One part, with the classes of the training part.
OnePart read_part_of(const std::string& path, bool test) {
  const TablePart train = table_of(path, choose_part(path, false).path);
  const TablePart part = test ? table_of(path, choose_part(path, true).path) : train;
  OnePart one{.list = {},
              .classes = data::classes_of_table(train.table, data::read_class_names(path)),
              .several = train.table.several || part.table.several};
  one.list = data::find_tagged(part.table, part.where, one.classes, {});
  return one;
}

Pipeline tagged_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const OnePart part = read_part_of(path, false);
  std::vector<std::string> files;
  for (const TaggedFile& file : part.list.files) files.push_back(file.path);
  const ImageFolderOptions views{.random_views = true, .seed = options.seed};
  return picture_file_pipeline(std::move(files),
                               open_files(part.list.files, part.classes, part.several, views),
                               options.seed);
}

std::string caption_of_labels(std::span<const float> y, const std::vector<std::string>& names) {
  std::vector<std::string> words;
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] != 0) words.push_back(i < names.size() ? names[i] : std::to_string(i));
  }
  return join(words, " ");
}

Showing show_tagged(const std::string& path, const ShowOptions& options) {
  const OnePart part = read_part_of(path, options.test);
  Showing showing{open_files(part.list.files, part.classes, part.several, shown_views(options)),
                  part.classes.names,
                  {}};
  if (part.several) {
    showing.tile = [names = part.classes.names](const Sample& sample) {
      return SheetTile{picture_of(sample.x()), caption_of_labels(sample.y().f32(), names)};
    };
  }
  return showing;
}

}  // namespace

ImageLayout csv_layout() {
  return {.fits = is_tagged,
          .load = load_tagged,
          .verify = verify_tagged,
          .pipeline = tagged_pipeline,
          .show = show_tagged};
}

}  // namespace pando::datasets
