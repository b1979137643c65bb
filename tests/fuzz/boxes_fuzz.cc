// Reads any text as bounding boxes, both as an annotation in XML and as a table of lines. Expects
// boxes inside the image, or an IoError.
// SPDX-License-Identifier: MIT
#include <string_view>

#include "pando/base/error.h"
#include "pando/data/sources/imagenet/boxes.h"
#include "tests/fuzz/targets.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

void check(const std::vector<ObjectBox>& boxes) {
  for (const ObjectBox& box : boxes) {
    PANDO_CHECK(0 <= box.y_min && box.y_min <= box.y_max && box.y_max <= 1);
    PANDO_CHECK(0 <= box.x_min && box.x_min <= box.x_max && box.x_max <= 1);
  }
}

void read_table(fuzz::Input input) {
  static const testing_support::TempFolder folder;
  const data::BoxTable table(folder.write("boxes.csv", {input.begin(), input.end()}));
  check(table.of("n01440764", "a.JPEG"));
}

}  // namespace
}  // namespace pando

void pando::fuzz::boxes(Input input) {
  try {
    check(data::parse_annotation({reinterpret_cast<const char*>(input.data()), input.size()}, "a"));
  } catch (const IoError&) {
  }
  try {
    read_table(input);
  } catch (const IoError&) {
  }
}
