// SPDX-License-Identifier: MIT
#include "pando/app/run/example_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>

#include "pando/base/error.h"
#include "pando/base/new_file.h"
#include "pando/base/paths.h"
#include "pando/data/sources/gzip.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

constexpr const char* kExamplesFolder = "examples";
constexpr size_t kLongestName = 64;
constexpr size_t kMostEntries = 1000;  // a folder with more is not one of examples

// The first names in alphabetical order.
std::set<std::string> example_names(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code failure;
  size_t seen = 0;
  for (fs::directory_iterator at(folder, failure), end;
       !failure && at != end && seen < kMostEntries; at.increment(failure), ++seen) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    const auto bytes = at->file_size(unknown);
    if (is_example_name(name) && !unknown && bytes <= kMostExampleBytes) names.insert(name);
    if (names.size() > kMostExamples) names.erase(std::prev(names.end()));
  }
  return names;
}

}  // namespace

bool is_example_name(const std::string& name) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '_' || c == '-';
  };
  const std::string suffix = to_lower(fs::path(name).extension().string());
  const bool is_picture = suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg";
  return is_picture && name.size() <= kLongestName && name[0] != '.' &&
         std::ranges::all_of(name, fits);
}

std::string picture_type(const std::vector<uint8_t>& bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\x89PNG\r\n\x1A\n")) return "image/png";
  return text.starts_with("\xFF\xD8\xFF") ? "image/jpeg" : "";
}

void write_examples(const std::string& version, const std::vector<ExamplePicture>& examples) {
  if (examples.empty()) return;
  PANDO_CHECK(examples.size() <= kMostExamples, examples.size(), " examples");
  const fs::path folder = fs::path(version) / kExamplesFolder;
  std::error_code failure;
  fs::create_directory(folder, failure);
  if (failure) throw IoError("cannot create '", folder.string(), "': ", failure.message());
  for (const ExamplePicture& example : examples) {
    PANDO_CHECK(is_example_name(example.name), "example '", example.name, "'");
    write_new_file((folder / example.name).string(), std::as_bytes(std::span(example.bytes)));
  }
  flush_directory(folder.string());
}

std::vector<ExamplePicture> read_examples(const std::string& version) {
  const fs::path folder = fs::path(version) / kExamplesFolder;
  std::vector<ExamplePicture> examples;
  for (const std::string& name : example_names(folder)) {
    if (!is_plain_file(folder / name) ||
        !lies_inside(version, concat(kExamplesFolder, "/", name))) {
      continue;
    }
    try {
      ExamplePicture example{name, data::read_file((folder / name).string())};
      const bool fits = example.bytes.size() <= kMostExampleBytes;
      if (fits && !picture_type(example.bytes).empty()) examples.push_back(std::move(example));
    } catch (const IoError&) {
      continue;  // the model answers without it
    }
  }
  return examples;
}

}  // namespace pando::app
