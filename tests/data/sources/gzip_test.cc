#include "pando/data/sources/gzip.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/data/idx_files.h"
#include "tests/support/expect_error.h"

namespace pando::data {
namespace {

TEST(PlainReader, ReadsRawAndCompressedTheSame) {
  const Bytes plain = counting_bytes(1000, 7);
  for (const Bytes& content : {plain, gzip(plain)}) {
    PlainReader reader(content, "file");
    Bytes found(600);
    EXPECT_EQ(reader.read(found), 600u);
    EXPECT_GE(reader.most_left(), 400u);
    Bytes rest(600);
    EXPECT_EQ(reader.read(rest), 400u);
    rest.resize(400);
    EXPECT_EQ(found + rest, plain);
    EXPECT_EQ(reader.most_left(), 0u);
    EXPECT_EQ(reader.read(rest), 0u);
  }
}

TEST(PlainReader, KnowsGzipByItsFirstBytes) {
  const Bytes packed = gzip(counting_bytes(10));
  EXPECT_TRUE(PlainReader(packed, "file").compressed());
  EXPECT_FALSE(PlainReader(counting_bytes(10), "file").compressed());
  EXPECT_FALSE(PlainReader(Bytes{0x1f}, "file").compressed());
}

// A long run of one byte is what deflate compresses best.
TEST(PlainReader, BoundsWhatCompressedDataCanHold) {
  const Bytes packed = gzip(Bytes(10'000'000, 0));
  EXPECT_GE(PlainReader(packed, "file").most_left(), 10'000'000u);
  EXPECT_LT(PlainReader(packed, "file").most_left(), 11'000'000u);
}

TEST(PlainReader, NamesTheFileInErrors) {
  Bytes packed = gzip(counting_bytes(1000));
  packed.resize(packed.size() / 2);
  PlainReader reader(packed, "dir/file");
  Bytes to(1000);
  try {
    reader.read(to);
    FAIL();
  } catch (const IoError& error) {
    EXPECT_SAYS(error.what(), "dir/file", "truncated", "gzip");
  }
}

TEST(ReadFile, ReadsAllOfARegularFile) {
  const TempFolder directory;
  const Bytes bytes = counting_bytes(3000, 100);
  EXPECT_EQ(read_file(directory.write("file", bytes)), bytes);
  EXPECT_THROW(read_file(directory.path("absent")), IoError);
  EXPECT_THROW(read_file(directory.path()), IoError);
}

}  // namespace
}  // namespace pando::data
