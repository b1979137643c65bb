// SPDX-License-Identifier: MIT
#include "pando/data/sources/labelled_images.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "pando/data/parallel.h"
#include "pando/data/sources/clutter.h"
#include "pando/data/sources/folder_view_impl.h"

namespace pando {

namespace {

namespace fs = std::filesystem;

using data::TaggedFile;

// The pictures below a folder by all the ways in which a table may write them.
class PictureNames {
 public:
  explicit PictureNames(const std::string& folder) {
    for (const std::string& path : data::files_below(folder)) {
      const fs::path relative = fs::path(path).lexically_relative(folder);
      if (relative.extension() == ".csv" || relative.extension() == ".txt") continue;
      paths_.insert(path);
      for (const fs::path& name : {relative, relative.filename()}) {
        add(name.generic_string(), path);
        add(fs::path(name).replace_extension().generic_string(), path);
      }
      exact_.emplace(relative.generic_string(), path);
    }
  }

  // The picture; "" if there is none. Throws IoError if there are several.
  std::string find(const std::string& written, const std::string& place) const {
    const std::string name = fs::path(written).lexically_normal().generic_string();
    if (const auto found = exact_.find(name); found != exact_.end()) return found->second;
    const auto found = places_.find(name);
    if (found == places_.end()) return "";
    const std::set<std::string>& all = found->second;
    if (all.size() == 1) return *all.begin();
    throw IoError(place, ": several pictures are called ", written, ": ", *all.begin(), ", ",
                  *std::next(all.begin()), "; expected their paths");
  }

  const std::set<std::string>& paths() const { return paths_; }

 private:
  void add(const std::string& name, const std::string& path) { places_[name].insert(path); }

  std::set<std::string> paths_;
  std::map<std::string, std::string> exact_;
  std::map<std::string, std::set<std::string>> places_;
};

bool is_below(const std::string& path, const std::string& folder) {
  return folder.empty() || path.starts_with(folder + "/");
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

class TaggedImageSource : public DataSource {
 public:
  TaggedImageSource(std::vector<TaggedFile> files, int64_t classes,
                    const ImageFolderOptions& options)
      : DataSource(data::view_fields(options, {"y", DType::f32, {classes}}),
                   static_cast<int64_t>(files.size())),
        files_(std::move(files)),
        options_(options) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    Image scratch;
    for (size_t i = 0; i < indices.size(); ++i) {
      const SampleView sample(fields(), rows, static_cast<int64_t>(i), {epoch, indices[i]});
      const TaggedFile& file = files_[static_cast<size_t>(indices[i])];
      data::read_view(file.path, options_, sample, scratch);
      const std::span<float> y = sample.f32(1);
      std::ranges::fill(y, 0.0f);
      for (const int32_t label : file.labels) y[static_cast<size_t>(label)] = 1;
    }
  }

 private:
  std::vector<TaggedFile> files_;
  ImageFolderOptions options_;
};

}  // namespace

data::TaggedList data::find_tagged(const LabelTable& table, const TaggedPart& part,
                                   const LabelClasses& classes, const ImageFolderOptions& options) {
  const bool skips = options.on_bad_record == OnBadRecord::skip;
  const PictureNames names(part.folder);
  std::set<std::string> unused;
  for (const std::string& path : names.paths()) {
    if (is_below(path, part.below)) unused.insert(path);
  }
  TaggedList list{.files = {}, .bad = {}, .warnings = table.warnings};
  for (const LabelRow& row : table.rows) {
    const std::string place = concat(table.place, ": line ", row.line);
    std::string path = names.find(row.file, place);
    if (path.empty()) {
      const std::string why =
          concat("line ", row.line, ": there is no file ", row.file, " in ", part.folder);
      if (!skips) throw IoError(table.place, ": ", why);
      list.bad.push_back({table.place, 0, why});
      continue;
    }
    if (!is_below(path, part.below)) continue;
    if (unused.erase(path) == 0) {
      throw IoError(place, ": ", path, " has a row already; expected each file once");
    }
    list.files.push_back({std::move(path), labels_of_row(table, row, classes)});
  }
  if (!unused.empty()) {
    list.warnings.push_back(concat(table.place, ": ", counted(std::ssize(unused), "file"),
                                   " below ", part.below.empty() ? part.folder : part.below,
                                   " without a row, such as ", *unused.begin()));
  }
  if (skips) drop_unreadable(list, options);
  if (list.files.empty()) {
    throw IoError(table.place, ": found no picture below ",
                  part.below.empty() ? part.folder : part.below,
                  list.bad.empty() ? "" : "; the first problem: ",
                  list.bad.empty() ? "" : to_string(list.bad.front()));
  }
  return list;
}

Dataset open_tagged_images(std::vector<TaggedFile> files, int64_t classes,
                           const ImageFolderOptions& options) {
  data::check_views(options);
  return Dataset(std::make_shared<TaggedImageSource>(std::move(files), classes, options));
}

}  // namespace pando
