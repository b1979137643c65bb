// SPDX-License-Identifier: MIT
#include "pando/store/hdf5_lists.h"

#include <algorithm>

#include "pando/base/strings.h"

namespace pando::store {
namespace {

constexpr size_t kLargestList = 64512;  // bytes; the limit that Keras uses

}  // namespace

// The parts have nearly equal lengths, as in Keras.
void write_list(Hdf5Writer& hdf5, const std::string& object, const std::string& name,
                const std::vector<std::string>& values) {
  size_t width = 1;
  for (const std::string& value : values) width = std::max(width, value.size());
  size_t parts = 1;
  while ((values.size() + parts - 1) / parts * width > kLargestList) ++parts;
  if (parts == 1) return hdf5.write_strings(object, name, values);
  auto next = values.begin();
  for (size_t part = 0; part < parts; ++part) {
    const size_t count = values.size() / parts + (part < values.size() % parts ? 1 : 0);
    const auto end = next + static_cast<std::ptrdiff_t>(count);
    hdf5.write_strings(object, concat(name, part), {next, end});
    next = end;
  }
}

bool has_list(Hdf5Reader& hdf5, const std::string& object, const std::string& name) {
  return hdf5.has_attribute(object, name) || hdf5.has_attribute(object, name + "0");
}

std::vector<std::string> read_list(Hdf5Reader& hdf5, const std::string& object,
                                   const std::string& name) {
  if (hdf5.has_attribute(object, name)) return hdf5.read_strings(object, name);
  std::vector<std::string> values;
  for (int part = 0; hdf5.has_attribute(object, concat(name, part)); ++part) {
    for (std::string& value : hdf5.read_strings(object, concat(name, part))) {
      values.push_back(std::move(value));
    }
  }
  return values;
}

}  // namespace pando::store
