#include "pando/data/sources/idx.h"

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "pando/data/sources/gzip.h"
#include "tests/data/idx_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

const Bytes kImages = idx_header(0x08, {2, 3, 4}) + counting_bytes(24);

// The message of the IoError that parsing `content` throws.
std::string parse_error(const Bytes& content) {
  try {
    parse_idx(content, "dir/file");
  } catch (const IoError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Idx, ReadsRawAndCompressedFiles) {
  const TempFolder directory;
  const std::string raw = directory.write("raw", kImages);
  const std::string packed = directory.write("packed-without-gz", gzip(kImages));
  for (const std::string& path : {raw, packed}) {
    const Tensor tensor = read_idx(path);
    EXPECT_EQ(tensor.dtype(), DType::u8);
    EXPECT_EQ(tensor.shape(), (Shape{2, 3, 4}));
    for (size_t i = 0; i < 24; ++i) EXPECT_EQ(tensor.u8()[i], i);
  }
}

TEST(Idx, ConvertsEveryType) {
  EXPECT_EQ(parse_idx(idx_header(0x09, {1}) + Bytes{0xfe}, "i8").i32()[0], -2);
  EXPECT_EQ(parse_idx(idx_header(0x0b, {1}) + Bytes{0xfe, 0x0c}, "i16").i32()[0], -500);
  EXPECT_EQ(parse_idx(idx_header(0x0c, {1}) + Bytes{0, 1, 2, 3}, "i32").i32()[0], 0x10203);
  EXPECT_EQ(parse_idx(idx_header(0x0d, {1}) + Bytes{0x3f, 0xc0, 0, 0}, "f32").f32()[0], 1.5f);
  EXPECT_EQ(parse_idx(idx_header(0x0e, {1}) + Bytes{0x3f, 0xf8, 0, 0, 0, 0, 0, 0}, "f64").f32()[0],
            1.5f);
}

TEST(Idx, ReadsPayloadsLargerThanOneChunk) {
  const uint32_t count = 5'000'001;
  const Bytes content = idx_header(0x08, {count}) + counting_bytes(count, 251);
  for (const Bytes& bytes : {content, gzip(content)}) {
    const Tensor tensor = parse_idx(bytes, "large");
    ASSERT_EQ(tensor.elements(), count);
    EXPECT_EQ(tensor.u8()[count - 1], (count - 1) % 251);
  }
}

TEST(Idx, ReadsGzipMembersOneAfterTheOther) {
  const Bytes front(kImages.begin(), kImages.begin() + 20);
  const Bytes back(kImages.begin() + 20, kImages.end());
  EXPECT_EQ(parse_idx(gzip(front) + gzip(back), "two").u8()[23], 23);
}

TEST(Idx, AllowsAnEmptyArray) {
  EXPECT_EQ(parse_idx(idx_header(0x08, {0, 28, 28}), "empty").elements(), 0);
}

TEST(Idx, MissingFile) {
  const TempFolder directory;
  EXPECT_THROW(read_idx(directory.path("absent")), IoError);
  EXPECT_THROW(read_idx(directory.path()), IoError);
}

TEST(Idx, WrongMagicTypeOrAxes) {
  Bytes content = kImages;
  content[0] = 7;
  EXPECT_SAYS(parse_error(content), "dir/file", "IDX");
  content = kImages;
  content[2] = 0x0a;
  EXPECT_SAYS(parse_error(content), "dir/file", "IDX", "10", "u8", "i8", "11", "i16", "12", "i32",
              "13", "f32", "14", "f64");
  content = kImages;
  content[3] = 0;
  EXPECT_SAYS(parse_error(content), "dir/file", "IDX", "0 axes", "1 to 8");
  content[3] = 9;
  EXPECT_SAYS(parse_error(content), "dir/file", "IDX", "9 axes", "1 to 8");
}

TEST(Idx, EveryTruncationIsAnError) {
  EXPECT_SAYS(parse_error({}), "dir/file", "truncated", "IDX", "header");
  Bytes short_one = kImages;
  short_one.pop_back();
  EXPECT_SAYS(parse_error(short_one), "dir/file", "truncated", "24 bytes", "array", "[2,3,4]",
              "23");
  for (const Bytes& whole : {kImages, gzip(kImages)}) {
    for (size_t kept = 0; kept < whole.size(); ++kept) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept));
      EXPECT_NE(parse_error(part), "no error") << kept << " bytes kept";
    }
  }
  EXPECT_SAYS(parse_error(gzip(short_one)), "dir/file", "truncated", "24 bytes", "array", "[2,3,4]",
              "23");
}

TEST(Idx, TrailingBytesAreAnError) {
  EXPECT_SAYS(parse_error(kImages + Bytes{1, 2}), "dir/file", "array", "[2,3,4]", "24 bytes", "26");
  EXPECT_SAYS(parse_error(gzip(kImages + Bytes{1})), "dir/file", "array", "[2,3,4]", "24 bytes");
  EXPECT_SAYS(parse_error(gzip(kImages) + Bytes{1, 2}), "dir/file", "2 bytes", "gzip");
}

TEST(Idx, AbsurdSizesCostNoMemory) {
  const uint32_t most = 0xffffffff;
  EXPECT_SAYS(parse_error(idx_header(0x0e, {most, most, most})), "dir/file", "IDX", "header",
              "array", "[4294967295,4294967295,4294967295]");
  // A zero extent does not hide an overflow before it and needs no memory after it.
  EXPECT_NE(parse_error(idx_header(0x0e, {most, most, 0})), "no error");
  EXPECT_EQ(parse_idx(idx_header(0x0e, {0, most, most}), "empty").elements(), 0);
  const Bytes large = idx_header(0x08, {1u << 20, 1u << 20}) + counting_bytes(10);
  EXPECT_SAYS(parse_error(large), "dir/file", "truncated", "1099511627776 bytes", "array",
              "[1048576,1048576]");
  EXPECT_SAYS(parse_error(gzip(large)), "dir/file", "truncated", "1099511627776 bytes",
              "[1048576,1048576]", "at most");
}

TEST(Idx, DamagedGzipIsAnError) {
  Bytes packed = gzip(kImages);
  packed[packed.size() - 5] ^= 1;  // the checksum
  EXPECT_SAYS(parse_error(packed), "dir/file", "damaged", "gzip", "incorrect data check");
}

// Flips, cuts and insertions at random places lead to an error or a tensor, never to a crash.
TEST(Idx, TenThousandMutationsAreHarmless) {
  const Bytes packed = gzip(kImages);
  RandomStream random(1);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random.next_below(bound)); };
  int accepted = 0;
  for (int i = 0; i < 10000; ++i) {
    Bytes content = i % 2 == 0 ? kImages : packed;
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      if (content.empty()) break;
      const size_t at = below(content.size());
      switch (below(4)) {
        case 0: content[at] = static_cast<uint8_t>(random.next_word()); break;
        case 1: content[at] ^= static_cast<uint8_t>(1u << below(8)); break;
        case 2: content.resize(at); break;
        default:
          content.insert(content.begin() + static_cast<std::ptrdiff_t>(at),
                         static_cast<uint8_t>(random.next_word()));
      }
    }
    try {
      const Tensor tensor = parse_idx(content, "mutated");
      EXPECT_LE(tensor.elements(), 24 * 4);
      ++accepted;
    } catch (const IoError&) {
    }
  }
  EXPECT_GT(accepted, 0);  // a changed pixel is not an error
  EXPECT_LT(accepted, 5000);
}

}  // namespace
}  // namespace pando
