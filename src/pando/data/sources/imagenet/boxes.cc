// SPDX-License-Identifier: MIT
#include "pando/data/sources/imagenet/boxes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

#include "pando/base/error.h"
#include "pando/data/sources/gzip.h"

namespace pando::data {

namespace {

namespace fs = std::filesystem;

// The text between the first <name> and its </name>; moves `text` to the end of the element.
std::optional<std::string_view> next_element(std::string_view& text, const std::string& name,
                                             const std::string& place) {
  const std::string begin = "<" + name + ">";
  const std::string end = "</" + name + ">";
  const size_t first = text.find(begin);
  if (first == std::string_view::npos) return std::nullopt;
  const size_t last = text.find(end, first + begin.size());
  if (last == std::string_view::npos) {
    throw IoError(place, ": found ", begin, " without ", end);
  }
  const std::string_view content = text.substr(first + begin.size(), last - first - begin.size());
  text.remove_prefix(last + end.size());
  return content;
}

double number_in(std::string_view text, const std::string& name, const std::string& place) {
  const auto content = next_element(text, name, place);
  if (!content) throw IoError(place, ": expected <", name, "> with a number, found none");
  const auto value = parse_double(trim(*content));
  if (!value || !std::isfinite(*value)) {
    throw IoError(place, ": <", name, "> is '", trim(*content), "', expected a number");
  }
  return *value;
}

float fraction(double edge, double side) {
  return static_cast<float>(std::clamp(edge / side, 0.0, 1.0));
}

ObjectBox parse_csv_box(const std::vector<std::string>& columns, const std::string& place) {
  std::array<float, 4> edges{};
  for (size_t i = 0; i < 4; ++i) {
    const auto value = parse_double(trim(columns[i + 1]));
    if (!value || !(*value >= 0 && *value <= 1)) {
      throw IoError(place, ": edge '", trim(columns[i + 1]), "', expected a fraction from 0 to 1");
    }
    edges[i] = static_cast<float>(*value);
  }
  if (edges[0] > edges[2] || edges[1] > edges[3]) {
    throw IoError(place, ": the box ends before it begins, expected xmin,ymin,xmax,ymax");
  }
  return {.y_min = edges[1], .x_min = edges[0], .y_max = edges[3], .x_max = edges[2]};
}

}  // namespace

std::vector<ObjectBox> parse_annotation(std::string_view xml, const std::string& place) {
  std::string_view rest = xml;
  const auto size = next_element(rest, "size", place);
  if (!size) throw IoError(place, ": expected <size> with width and height, found none");
  const double width = number_in(*size, "width", place);
  const double height = number_in(*size, "height", place);
  if (!(width >= 1 && height >= 1)) {
    throw IoError(place, ": the image is ", width, " wide and ", height,
                  " high, expected at least 1");
  }
  rest = xml;
  std::vector<ObjectBox> boxes;
  while (const auto box = next_element(rest, "bndbox", place)) {
    // Corners may be swapped: some people draw from the lower right corner.
    const auto [left, right] =
        std::minmax({number_in(*box, "xmin", place), number_in(*box, "xmax", place)});
    const auto [top, bottom] =
        std::minmax({number_in(*box, "ymin", place), number_in(*box, "ymax", place)});
    boxes.push_back({.y_min = fraction(top, height),
                     .x_min = fraction(left, width),
                     .y_max = fraction(bottom, height),
                     .x_max = fraction(right, width)});
  }
  return boxes;
}

BoxTable::BoxTable(const std::string& path) {
  std::error_code error;
  if (path.empty()) return;
  if (fs::is_directory(path, error)) {
    folder_ = path;
  } else {
    read_csv(path);
  }
}

void BoxTable::read_csv(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (int64_t line = 1; !rest.empty(); ++line) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (text.empty()) continue;
    const std::string place = concat(path, ": line ", line);
    const std::vector<std::string> columns = split(text, ',');
    if (columns.size() != 5) {
      throw IoError(place,
                    ": expected 5 columns (the name of an image, xmin, ymin, xmax, ymax), got ",
                    columns.size(), " columns");
    }
    boxes_[std::string(trim(columns[0]))].push_back(parse_csv_box(columns, place));
  }
}

std::vector<ObjectBox> BoxTable::of(std::string_view synset, const std::string& file_name) const {
  if (folder_.empty()) {
    const auto found = boxes_.find(file_name);
    return found == boxes_.end() ? std::vector<ObjectBox>() : found->second;
  }
  const std::string name = fs::path(file_name).stem().string() + ".xml";
  const fs::path folder(folder_);
  for (const fs::path& path : {folder / synset / name, folder / name,
                               folder / "train" / synset / name, folder / "val" / name}) {
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    const std::vector<uint8_t> bytes = read_file(path.string());
    return parse_annotation({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                            path.string());
  }
  return {};
}

}  // namespace pando::data
