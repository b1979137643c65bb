// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "pando/base/error.h"
#include "pando/data/sources/clutter.h"
#include "pando/data/tfrecord/example.h"
#include "pando/data/tfrecord/record_file.h"
#include "pando/datasets/tools/places_impl.h"

namespace pando::datasets {

namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 4> kParts = {"train", "validation", "val", "test"};

std::set<std::string> folders_in(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;  // an entry that cannot be examined is not a part
    if (!data::is_clutter(at->path().filename().string()) && at->is_directory(unknown)) {
      names.insert(at->path().filename().string());
    }
  }
  if (error) throw IoError(folder, ": cannot list the folder: ", error.message());
  return names;
}

// The parts of "train-00003-of-01024".
struct Shard {
  std::string name;  // "train"
  int64_t number = 0;
  int64_t count = 0;
};

std::optional<Shard> parse_shard(const std::string& file) {
  const size_t of = file.rfind("-of-");
  if (of == std::string::npos) return std::nullopt;
  const size_t dash = of == 0 ? std::string::npos : file.rfind('-', of - 1);
  if (dash == std::string::npos) return std::nullopt;
  const std::string number = file.substr(dash + 1, of - dash - 1);
  const std::string count = file.substr(of + 4);
  const auto five_digits = [](const std::string& text) {
    return text.size() == 5 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!five_digits(number) || !five_digits(count)) return std::nullopt;
  return Shard{file.substr(0, dash), *parse_int(number), *parse_int(count)};
}

std::string five_digits(int64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<size_t>(digits.size(), 5), '0') + digits;
}

bool looks_like_records(const std::string& name) {
  for (const char* ending : {".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz"}) {
    if (name.ends_with(ending)) return true;
  }
  return parse_shard(name).has_value();
}

}  // namespace

std::vector<PartFolder> part_folders(const std::string& folder) {
  const std::set<std::string> names = folders_in(folder);
  const auto parts_there =
      std::ranges::count_if(kParts, [&](const char* name) { return names.contains(name); });
  // Further folders are ignored, as in training. A lone train among others is a class.
  const bool divided = names.contains("train") && (parts_there > 1 || names.size() == 1);
  if (!divided) return {{"all", folder}};
  std::vector<PartFolder> parts;
  for (const char* name : kParts) {
    if (names.contains(name)) parts.push_back({name, (fs::path(folder) / name).string()});
  }
  return parts;
}

PartFolder choose_part(const std::string& folder, bool test) {
  std::vector<PartFolder> parts = part_folders(folder);
  if (!test) return parts.front();
  if (parts.size() > 1) return parts[1];
  throw InvalidArgument(folder,
                        ": has no part for testing, expected a folder validation, val or "
                        "test beside train");
}

std::vector<std::string> files_in(const std::string& folder,
                                  const std::function<bool(const std::string& name)>& wanted) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;  // reading the file reports the error
    if (data::is_clutter(at->path().filename().string()) || at->is_directory(unknown)) continue;
    if (wanted(at->path().filename().string())) paths.push_back(at->path().string());
  }
  if (error) throw IoError(folder, ": cannot list the folder: ", error.message());
  std::ranges::sort(paths);
  return paths;
}

bool is_cosmoflow_file(const std::string& name) {
  return fs::path(name).extension() == ".tfrecord";
}

std::vector<std::string> record_files(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> all = files_in(path, [](const std::string&) { return true; });
  for (const std::string& name : folders_in(path)) {
    const fs::path folder = fs::path(path) / name;
    if (fs::is_symlink(folder, error)) continue;
    for (std::string& below : record_files(folder.string())) {
      all.push_back(std::move(below));
    }
  }
  std::vector<std::string> named;
  std::ranges::copy_if(all, std::back_inserter(named), [](const std::string& file) {
    return looks_like_records(fs::path(file).filename().string());
  });
  return named.empty() ? all : named;
}

std::vector<std::string> missing_shards(const std::vector<std::string>& paths) {
  std::map<std::pair<std::string, int64_t>, std::set<int64_t>> found;  // by folder/name and count
  for (const std::string& path : paths) {
    const std::optional<Shard> shard = parse_shard(fs::path(path).filename().string());
    if (!shard) continue;
    found[{(fs::path(path).parent_path() / shard->name).string(), shard->count}].insert(
        shard->number);
  }
  std::vector<std::string> missing;
  for (const auto& [set, numbers] : found) {
    for (int64_t i = 0; i < set.second; ++i) {
      if (numbers.contains(i)) continue;
      missing.push_back(set.first + "-" + five_digits(i) + "-of-" + five_digits(set.second));
    }
  }
  return missing;
}

Shape cosmoflow_shape(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    try {
      RecordReader reader(path);
      const auto payload = reader.next();
      if (!payload) continue;
      const size_t voxels = Example(*payload).bytes("x").size() / (4 * sizeof(int16_t));
      const int64_t side = std::llround(std::cbrt(static_cast<double>(voxels)));
      if (side > 0) return {side, side, side, 4};
    } catch (const IoError&) {  // verifying reports the error; the next file will do here
    }
  }
  return {128, 128, 128, 4};
}

}  // namespace pando::datasets
