// SPDX-License-Identifier: MIT
#include "pando/data/sources/labelled_images.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "pando/data/parallel.h"
#include "pando/data/sources/clutter.h"
#include "pando/data/sources/folder_view_impl.h"

namespace pando {

namespace {

namespace fs = std::filesystem;

using data::TaggedFile;

constexpr size_t kNone = static_cast<size_t>(-1);

// The pictures below a folder by all the ways in which a table may write them.
class PictureNames {
 public:
  explicit PictureNames(const std::string& folder) : folder_(folder) {
    for (std::string& path : data::files_below(folder)) {
      const std::string ending = fs::path(path).extension().string();
      if (ending == ".csv" || ending == ".txt") continue;
      exact_.emplace(relative(path).generic_string(), paths_.size());
      paths_.push_back(std::move(path));
    }
  }

  // The place of the picture in paths(); kNone if there is none. Throws IoError if there are
  // several.
  size_t find(const std::string& written, const std::string& place) {
    const std::string name = fs::path(written).lexically_normal().generic_string();
    if (const auto found = exact_.find(name); found != exact_.end()) return found->second;
    if (loose_.empty()) add_loose_names();
    const auto found = loose_.find(name);
    if (found == loose_.end()) return kNone;
    const auto [first, second] = found->second;
    if (second == kNone) return first;
    throw IoError(place, ": several pictures are called ", written, ": ", paths_[first], ", ",
                  paths_[second], "; expected their paths");
  }

  const std::vector<std::string>& paths() const { return paths_; }

 private:
  fs::path relative(const std::string& path) const {
    return fs::path(path).lexically_relative(folder_);
  }

  // Names alone, and names and paths without their endings. Tables with whole paths need none.
  void add_loose_names() {
    for (size_t i = 0; i < paths_.size(); ++i) {
      const fs::path path = relative(paths_[i]);
      const std::set<std::string> names = {path.filename().generic_string(),
                                           path.stem().generic_string(),
                                           fs::path(path).replace_extension().generic_string()};
      for (const std::string& name : names) {
        const auto [found, is_new] = loose_.try_emplace(name, i, kNone);
        if (!is_new) found->second.second = i;
      }
    }
  }

  std::string folder_;
  std::vector<std::string> paths_;  // sorted
  std::unordered_map<std::string, size_t> exact_;
  std::unordered_map<std::string, std::pair<size_t, size_t>> loose_;  // two of the pictures
};

bool is_below(const std::string& path, const std::string& folder) {
  return folder.empty() || path.starts_with(folder + "/");
}

const std::string& place_of(const data::TaggedPart& part) {
  return part.below.empty() ? part.folder : part.below;
}

void warn_of_unused(const std::vector<std::string>& paths, const std::vector<bool>& used,
                    const data::TaggedPart& part, std::vector<std::string>& warnings) {
  int64_t unused = 0;
  std::string first;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (used[i] || !is_below(paths[i], part.below)) continue;
    if (unused++ == 0) first = paths[i];
  }
  if (unused == 0) return;
  warnings.push_back(concat(place_of(part), ": ", counted(unused, "file"),
                            " without a row in the table, such as ", first));
}

// Leaves out pictures that cannot be read.
void drop_unreadable(data::TaggedList& list, const ImageFolderOptions& options) {
  std::vector<std::string> flaws(list.files.size());
  data::for_each_item(list.files.size(), options.workers, [&](size_t i) {
    Image scratch;
    flaws[i] = data::image_flaw(list.files[i].path, options.limits, scratch);
  });
  std::vector<TaggedFile> good;
  for (size_t i = 0; i < flaws.size(); ++i) {
    if (flaws[i].empty()) {
      good.push_back(std::move(list.files[i]));
    } else {
      list.bad.push_back({list.files[i].path, 0, std::move(flaws[i])});
    }
  }
  list.files = std::move(good);
}

}  // namespace

data::TaggedList data::find_tagged(const LabelTable& table, const TaggedPart& part,
                                   const LabelClasses& classes, const ImageFolderOptions& options) {
  const bool skips = options.on_bad_record == OnBadRecord::skip;
  PictureNames names(part.folder);
  std::vector<bool> used(names.paths().size());
  TaggedList list{.files = {}, .bad = {}, .warnings = table.warnings};
  for (const LabelRow& row : table.rows) {
    const std::string place = concat(table.place, ": line ", row.line);
    const size_t found = names.find(row.file, place);
    if (found == kNone) {
      const std::string why =
          concat("line ", row.line, ": there is no file ", row.file, " in ", part.folder);
      if (!skips) throw IoError(table.place, ": ", why);
      list.bad.push_back({table.place, 0, why});
      continue;
    }
    const std::string& path = names.paths()[found];
    if (!is_below(path, part.below)) continue;
    if (used[found]) {
      throw IoError(place, ": ", path, " has a row already; expected each file once");
    }
    used[found] = true;
    list.files.push_back({path, labels_of_row(table, row, classes)});
  }
  warn_of_unused(names.paths(), used, part, list.warnings);
  if (skips) drop_unreadable(list, options);
  if (list.files.empty()) {
    throw IoError(table.place, ": found no picture below ", place_of(part),
                  list.bad.empty() ? "" : "; the first problem: ",
                  list.bad.empty() ? "" : to_string(list.bad.front()));
  }
  return list;
}

Dataset open_tagged_images(std::vector<TaggedFile> files, int64_t classes,
                           const ImageFolderOptions& options) {
  data::check_views(options);
  const auto write_label = [](const TaggedFile& file, const SampleView& sample) {
    const std::span<float> y = sample.f32(1);
    std::ranges::fill(y, 0.0f);
    for (const int32_t label : file.labels) y[static_cast<size_t>(label)] = 1;
  };
  return Dataset(std::make_shared<data::PictureFileSource<TaggedFile>>(
      std::move(files), Field{"y", DType::f32, {classes}}, write_label, options));
}

}  // namespace pando
