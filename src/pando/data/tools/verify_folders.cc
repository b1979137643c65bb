// Verifies the data sets that come as folders of many files: images per class, CosmoFlow, records.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "pando/data/parallel.h"
#include "pando/data/sources/cosmoflow.h"
#include "pando/data/sources/image_folder.h"
#include "pando/data/tools/places_impl.h"
#include "pando/data/tools/verify_impl.h"

namespace pando::data {

namespace {

// One image of a folder and what reading it gave.
struct CheckedImage {
  std::string path;
  size_t label = 0;
  uint64_t bytes = 0;
  std::string flaw;
};

FileFindings findings_of_folder(const std::string& path, const VerifyOptions& options) {
  FileFindings findings(options);
  findings.file.path = path;
  return findings;
}

// The images of one class, in their order, as findings about the folder.
void verify_images(const PartFolder& part, const std::vector<std::string>& classes,
                   const VerifyOptions& options, ReportBuilder& builder) {
  std::vector<CheckedImage> images;
  std::vector<FileFindings> folders;
  for (size_t label = 0; label < classes.size(); ++label) {
    const std::string folder = (std::filesystem::path(part.path) / classes[label]).string();
    folders.push_back(findings_of_folder(folder, options));
    try {
      for (std::string& path : image_files(folder))
        images.push_back({std::move(path), label, 0, ""});
    } catch (const IoError& error) {
      folders.back().flaw(0, without_place(error.what(), folder));
    }
  }
  for_each_item(images.size(), options.workers, [&](size_t i) {
    Image scratch;
    images[i].bytes = size_of_file(images[i].path);
    images[i].flaw = image_flaw(images[i].path, options.limits, scratch);
  });
  for (CheckedImage& image : images) {
    FileFindings& folder = folders[image.label];
    folder.file.bytes += image.bytes;
    if (image.flaw.empty()) {
      folder.sample(static_cast<int64_t>(image.label));
    } else {
      folder.bad.add({std::move(image.path), 0, std::move(image.flaw)});
    }
  }
  for (FileFindings& folder : folders) builder.add(std::move(folder));
}

// The folders of classes; what is wrong with them is in the report.
std::optional<std::vector<std::string>> classes_of(const PartFolder& part, ReportBuilder& builder) {
  try {
    return image_classes(part.path);
  } catch (const IoError& error) {
    builder.add_bad({part.path, 0, without_place(error.what(), part.path)});
    return std::nullopt;
  }
}

// What the volumes of a part gave, in the order of the files.
struct CheckedVolumes {
  std::vector<std::optional<BadRecord>> flaws;
  std::vector<std::vector<float>> targets;
};

CheckedVolumes check_volumes(const std::vector<std::string>& paths, const Dataset& volumes,
                             const VerifyOptions& options) {
  CheckedVolumes checked{.flaws = std::vector<std::optional<BadRecord>>(paths.size()),
                         .targets = std::vector<std::vector<float>>(paths.size())};
  for_each_item(paths.size(), options.workers, [&](size_t i) {
    try {
      const Sample sample = volumes.get(static_cast<int64_t>(i));
      checked.targets[i].assign(sample.y().f32().begin(), sample.y().f32().end());
    } catch (const BadRecordError& error) {
      checked.flaws[i] = error.record();
    } catch (const IoError& error) {
      checked.flaws[i] = BadRecord{paths[i], 0, without_place(error.what(), paths[i])};
    }
  });
  return checked;
}

std::string target_ranges(const CheckedVolumes& checked) {
  std::vector<float> low;
  std::vector<float> high;
  for (const std::vector<float>& targets : checked.targets) {
    if (targets.empty()) continue;
    if (low.empty()) low = high = targets;
    for (size_t t = 0; t < targets.size(); ++t) {
      low[t] = std::min(low[t], targets[t]);
      high[t] = std::max(high[t], targets[t]);
    }
  }
  std::vector<std::string> ranges;
  for (size_t t = 0; t < low.size(); ++t) ranges.push_back(concat(low[t], " to ", high[t]));
  return join(ranges, ", ");
}

void verify_volumes(const PartFolder& part, const VerifyOptions& options, ReportBuilder& builder) {
  const std::vector<std::string> paths = files_in(part.path, is_cosmoflow_file);
  FileFindings folder = findings_of_folder(part.path, options);
  if (paths.empty()) {
    folder.flaw(0, "found no file *.tfrecord, wanted one per sample");
    return builder.add(std::move(folder));
  }
  const Shape shape = cosmoflow_shape(paths);
  const CheckedVolumes checked =
      check_volumes(paths, open_cosmoflow(part.path, {.shape = shape}).data, options);
  for (size_t i = 0; i < paths.size(); ++i) {
    folder.file.bytes += size_of_file(paths[i]);
    if (checked.flaws[i]) {
      folder.bad.add(*checked.flaws[i]);
    } else {
      folder.sample(-1);
    }
  }
  const bool any = folder.file.samples > 0;
  builder.add(std::move(folder));
  if (!any) return;
  builder.note(concat(part.name, ": volumes ", shape));
  builder.note(concat(part.name, ": targets from ", target_ranges(checked)));
}

// Calls `verify` for each part of the folder.
template <typename Verify>
VerifyReport verify_parts(const std::string& path, const VerifyOptions& options,
                          const Verify& verify) {
  ReportBuilder builder(options);
  try {
    for (const PartFolder& part : part_folders(path)) {
      builder.begin_part(part.name, 0, 0);
      verify(part, builder);
    }
  } catch (const IoError& error) {
    builder.add_bad({path, 0, without_place(error.what(), path)});
  }
  return std::move(builder).finish(path);
}

}  // namespace

VerifyReport verify_image_folder(const std::string& path, const VerifyOptions& options) {
  std::vector<std::string> first;
  return verify_parts(path, options, [&](const PartFolder& part, ReportBuilder& builder) {
    const auto classes = classes_of(part, builder);
    if (!classes) return;
    if (first.empty()) {
      first = *classes;
      builder.set_classes(first);
    } else if (first != *classes) {
      // Labels are places in the sorted list, so another list gives other labels.
      builder.add_bad({part.path, 0,
                       concat("its ", classes->size(), " classes are not those of the first part (",
                              first.size(), "), wanted the same folders")});
    }
    verify_images(part, *classes, options, builder);
  });
}

VerifyReport verify_cosmoflow(const std::string& path, const VerifyOptions& options) {
  return verify_parts(path, options, [&](const PartFolder& part, ReportBuilder& builder) {
    verify_volumes(part, options, builder);
  });
}

VerifyReport verify_tfrecord(const std::string& path, const VerifyOptions& options) {
  ReportBuilder builder(options);
  builder.begin_part("all", 0, 0);
  std::vector<std::string> paths;
  try {
    paths = record_files(path);
  } catch (const IoError& error) {
    builder.add_bad({path, 0, without_place(error.what(), path)});
  }
  for (const std::string& shard : missing_shards(paths)) {
    builder.add_bad(missing_file(shard, "wanted all files of the set"));
  }
  std::vector<FileFindings> all =
      check_files(paths, options, [](const std::string& file, FileFindings& findings) {
        check_record_file(file, findings, [&](const Example& example) {
          for (const std::string& key : example.keys()) {
            ++findings.features[concat("'", key, "' ", to_string(example.kind(key)))];
          }
          return -1;
        });
      });
  std::map<std::string, int64_t> features;
  for (FileFindings& findings : all) {
    for (const auto& [feature, count] : findings.features) features[feature] += count;
    builder.add(std::move(findings));
  }
  for (const auto& [feature, count] : features) {
    builder.note(concat("feature ", feature, " in ", count, count == 1 ? " record" : " records"));
  }
  return std::move(builder).finish(path);
}

}  // namespace pando::data
