#include "pando/options/byte_size.h"

#include <gtest/gtest.h>

namespace pando::app {
namespace {

TEST(ByteSize, HasUnitsOfPowersOf1024) {
  EXPECT_EQ(parse_byte_size("0")->bytes, 0);
  EXPECT_EQ(parse_byte_size("4096")->bytes, 4096);
  EXPECT_EQ(parse_byte_size("3k")->bytes, 3072);
  EXPECT_EQ(parse_byte_size("512M")->bytes, int64_t{512} << 20);
  EXPECT_EQ(parse_byte_size("2G")->bytes, int64_t{2} << 30);
  EXPECT_EQ(parse_byte_size("1t")->bytes, int64_t{1} << 40);
  EXPECT_EQ(parse_byte_size("7MiB")->bytes, int64_t{7} << 20);
}

TEST(ByteSize, RefusesWhatIsNone) {
  for (const char* text :
       {"", "M", "-1", "-1K", "1.5G", "1 G", "G1", "1KB", "1iB", "iB", "MiB", "9999999999G"}) {
    EXPECT_EQ(parse_byte_size(text), std::nullopt) << text;
  }
}

TEST(ByteSize, IsWrittenSoThatItIsReadBack) {
  EXPECT_EQ(to_string(ByteSize{0}), "0");
  EXPECT_EQ(to_string(ByteSize{1000}), "1000");
  EXPECT_EQ(to_string(ByteSize{1536}), "1536");
  EXPECT_EQ(to_string(ByteSize{int64_t{512} << 20}), "512M");
  for (const int64_t bytes : {int64_t{1}, int64_t{1} << 50, int64_t{3} << 30}) {
    EXPECT_EQ(parse_byte_size(to_string(ByteSize{bytes}))->bytes, bytes);
  }
}

TEST(ByteSize, IsAnOption) {
  ByteSize field;
  EXPECT_TRUE(OptionType<ByteSize>::read(ConfigValue::scalar("2K"), field));
  EXPECT_EQ(field.bytes, 2048);
  EXPECT_FALSE(OptionType<ByteSize>::read(ConfigValue::list({}), field));
  EXPECT_FALSE(OptionType<ByteSize>::read(ConfigValue::scalar("x"), field));
  EXPECT_EQ(field.bytes, 2048);
  EXPECT_EQ(OptionType<ByteSize>::show(field).text, "2K");
}

}  // namespace
}  // namespace pando::app
