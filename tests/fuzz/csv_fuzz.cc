// Reads any text as a table of labels, and as names of classes. Expects rows with known classes, or
// an IoError.
// SPDX-License-Identifier: MIT
#include <string_view>

#include "pando/base/error.h"
#include "pando/data/sources/class_names.h"
#include "pando/data/sources/label_table.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::csv(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    const data::LabelTable table = data::parse_label_table(text, "fuzz");
    PANDO_CHECK(!table.rows.empty());
    const data::LabelClasses classes = data::classes_of_table(table, {});
    for (const data::LabelRow& row : table.rows) {
      PANDO_CHECK(!row.file.empty());
      PANDO_CHECK(table.several || row.labels.size() == 1);
      for (const int32_t label : data::labels_of_row(table, row, classes)) {
        PANDO_CHECK(label >= 0 && label < classes.count);
      }
    }
  } catch (const IoError&) {
  }
  try {
    PANDO_CHECK(!data::parse_class_names(text, "fuzz").empty());
  } catch (const IoError&) {
  }
}
