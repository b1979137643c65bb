// SPDX-License-Identifier: MIT
#include "pando/data/sources/class_names.h"

#include <filesystem>
#include <map>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/data/sources/gzip.h"

namespace pando::data {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

std::vector<std::string> parse_class_names(std::string_view content, const std::string& place) {
  if (content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
  while (!content.empty() && trim(content.substr(content.size() - 1)).empty()) {
    content.remove_suffix(1);
  }
  if (content.empty()) throw IoError(place, ": expected the name of a class on each line");
  std::vector<std::string> names;
  std::map<std::string_view, size_t> lines;
  for (const std::string& line : split(content, '\n')) names.emplace_back(trim(line));
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) {
      throw IoError(place, ": line ", i + 1, " is empty, expected the name of class ", i);
    }
    const auto [found, is_new] = lines.emplace(names[i], i + 1);
    if (!is_new) {
      throw IoError(place, ": '", names[i], "' is on line ", found->second, " and on line ", i + 1,
                    "; expected each class once");
    }
  }
  return names;
}

std::vector<std::string> read_class_names(const std::string& folder) {
  for (const char* name : {"labels.txt", "classes.txt"}) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    const std::vector<uint8_t> bytes = read_file(path);
    return parse_class_names({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
  }
  return {};
}

}  // namespace pando::data
