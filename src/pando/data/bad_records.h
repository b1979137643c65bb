// Records that cannot be read: what to do with them, how to list them, and the error.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pando/base/error.h"

namespace pando {

// error: the first bad record ends the operation. skip: sources read all records when they are
// opened, leave the bad ones out and list them; the number of samples never changes afterwards.
enum class OnBadRecord { error, skip };

std::string_view to_string(OnBadRecord choice);

// A record that could not be read.
struct BadRecord {
  std::string file;
  uint64_t offset = 0;  // of the record, in the uncompressed bytes of the file
  std::string why;      // with the offset, what was expected and what was found

  bool operator==(const BadRecord&) const = default;
};

std::string to_string(const BadRecord& record);  // "file: why"
// "2 bad records skipped:" and one line for each of the first `most`; "" when there are none.
std::string to_string(const std::vector<BadRecord>& records, size_t most = 20);

// Removes a leading "place: " from a message, for errors that become the `why` of a record.
std::string without_place(const std::string& message, const std::string& place);

// Thrown by readers for a bad record; the message is to_string(record()).
class BadRecordError : public IoError {
 public:
  explicit BadRecordError(BadRecord record);
  const BadRecord& record() const { return record_; }

 private:
  BadRecord record_;
};

}  // namespace pando
