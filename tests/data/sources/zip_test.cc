#include "pando/data/sources/zip.h"

#include <gtest/gtest.h>

namespace pando::data {
namespace {

// Damage of archives is tested with those of NumPy, in npy_test.cc, and of Keras.
TEST(Zip, ReadsWhatItWrites) {
  const std::vector<uint8_t> first = {1, 2, 3}, none = {};
  const std::vector<uint8_t> archive = make_zip({{"a/first", first}, {"none", none}});
  const std::vector<ZipMember> members = zip_members(archive, "memory");
  ASSERT_EQ(members.size(), 2);
  EXPECT_EQ(members[0].name, "a/first");
  EXPECT_EQ(read_zip_member(archive, members[0], "memory"), first);
  EXPECT_EQ(read_zip_member(archive, members[1], "memory"), none);
}

TEST(Zip, RefusesFourGigabytes) {
  const std::span<const uint8_t> large(reinterpret_cast<const uint8_t*>(1), uint64_t{1} << 32);
  EXPECT_ANY_THROW(make_zip({{"large", large}}));  // before it reads them
}

}  // namespace
}  // namespace pando::data
