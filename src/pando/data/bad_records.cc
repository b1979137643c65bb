// SPDX-License-Identifier: MIT
#include "pando/data/bad_records.h"

#include <algorithm>
#include <utility>

namespace pando {

std::string_view to_string(OnBadRecord choice) {
  return choice == OnBadRecord::error ? "error" : "skip";
}

std::string to_string(const BadRecord& record) { return concat(record.file, ": ", record.why); }

std::string to_string(const std::vector<BadRecord>& records, size_t most) {
  if (records.empty()) return {};
  std::string text =
      concat(records.size(), records.size() == 1 ? " bad record" : " bad records", " skipped:");
  const size_t shown = std::min(records.size(), most);
  for (size_t i = 0; i < shown; ++i) text += "\n  " + to_string(records[i]);
  if (shown < records.size()) text += concat("\n  and ", records.size() - shown, " more");
  return text;
}

std::string without_place(const std::string& message, const std::string& place) {
  const std::string front = place + ": ";
  return message.starts_with(front) ? message.substr(front.size()) : message;
}

BadRecordError::BadRecordError(BadRecord record)
    : IoError(to_string(record)), record_(std::move(record)) {}

}  // namespace pando
