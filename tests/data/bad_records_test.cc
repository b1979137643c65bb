#include "pando/data/bad_records.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

TEST(BadRecords, ListsTheFirst) {
  std::vector<BadRecord> records;
  EXPECT_EQ(to_string(records), "");
  records.push_back({"a", 3, "at byte 3"});
  EXPECT_EQ(to_string(records), "1 bad record skipped:\n  a: at byte 3");
  records.push_back({"b", 4, "at byte 4"});
  EXPECT_EQ(to_string(records, 1), "2 bad records skipped:\n  a: at byte 3\n  and 1 more");
}

TEST(BadRecords, TheErrorKeepsThePlace) {
  const BadRecordError error({"a", 3, "at byte 3"});
  EXPECT_STREQ(error.what(), "a: at byte 3");
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(error.record(), (BadRecord{"a", 3, "at byte 3"}));
}

}  // namespace
}  // namespace pando
