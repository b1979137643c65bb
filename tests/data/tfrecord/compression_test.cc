#include "pando/data/tfrecord/compression.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/data/idx_files.h"
#include "tests/support/expect_error.h"

namespace pando::data {
namespace {

Bytes deflated(const Bytes& plain, Compression compression, size_t piece = 1000) {
  Bytes packed;
  Deflater deflater(compression, -1, [&](std::span<const uint8_t> bytes) {
    packed.insert(packed.end(), bytes.begin(), bytes.end());
  });
  for (size_t at = 0; at < plain.size(); at += piece) {
    deflater.write(std::span(plain).subspan(at, std::min(piece, plain.size() - at)));
  }
  deflater.finish();
  return packed;
}

struct Inflated {
  Bytes bytes;
  std::string cut_short;
  std::string error;
};

Inflated inflate_all(const Bytes& packed, Compression compression) {
  const ByteInputPtr input = inflated(memory_input(packed), compression, "dir/file");
  Inflated result;
  Bytes piece(777);
  try {
    for (size_t count = piece.size(); count == piece.size();) {
      count = input->read(piece);
      result.bytes.insert(result.bytes.end(), piece.begin(),
                          piece.begin() + static_cast<std::ptrdiff_t>(count));
    }
  } catch (const IoError& error) {
    result.error = error.what();
  }
  result.cut_short = input->cut_short();
  return result;
}

TEST(Compression, RoundTrip) {
  for (const size_t size : {0u, 1u, 777u, 300'000u}) {
    const Bytes plain = counting_bytes(size, 251);
    for (const auto compression : {Compression::gzip, Compression::zlib}) {
      const Bytes packed = deflated(plain, compression);
      EXPECT_EQ(sniff_compression(packed), compression);
      const Inflated result = inflate_all(packed, compression);
      EXPECT_EQ(result.bytes, plain);
      EXPECT_EQ(result.error + result.cut_short, "");
    }
  }
}

TEST(Compression, SniffsNothingInOtherBytes) {
  EXPECT_EQ(sniff_compression({}), Compression::none);
  EXPECT_EQ(sniff_compression(Bytes{0x1f}), Compression::none);
  EXPECT_EQ(sniff_compression(Bytes{0x1f, 0x8c}), Compression::none);
  EXPECT_EQ(sniff_compression(Bytes{0x78, 0x9d}), Compression::none);
}

TEST(Compression, GzipMembersAreOneStream) {
  const Bytes packed = gzip({1, 2}) + gzip({3});
  EXPECT_EQ(inflate_all(packed, Compression::gzip).bytes, (Bytes{1, 2, 3}));
}

TEST(Compression, EveryTruncationIsSeen) {
  for (const auto compression : {Compression::gzip, Compression::zlib}) {
    const Bytes packed = deflated(counting_bytes(2000), compression);
    for (size_t kept = 0; kept < packed.size(); ++kept) {
      const Bytes part(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(kept));
      const Inflated result = inflate_all(part, compression);
      EXPECT_SAYS(result.cut_short, concat(to_string(compression), " data"));
    }
  }
}

TEST(Compression, DamageAndTrailingBytesAreErrors) {
  for (const auto compression : {Compression::gzip, Compression::zlib}) {
    Bytes packed = deflated(counting_bytes(2000), compression);
    EXPECT_SAYS(inflate_all(packed + Bytes{0}, compression).error, "dir/file",
                concat(to_string(compression), " data"), concat("byte ", packed.size()));
    packed[packed.size() - 3] ^= 1;  // gzip: the length; zlib: the checksum
    const std::string error = inflate_all(packed, compression).error;
    EXPECT_TRUE(error.starts_with("dir/file: damaged ")) << error;
  }
}

TEST(Compression, BoundsWhatIsToCome) {
  const Bytes packed = deflated(Bytes(10'000'000, 0), Compression::gzip, 1 << 20);
  const ByteInputPtr input = inflated(memory_input(packed), Compression::gzip, "file");
  EXPECT_FALSE(input->exact());
  EXPECT_GE(input->most_left(), 10'000'000u);
  EXPECT_LT(input->most_left(), 11'000'000u);
  Bytes all(10'000'001);
  EXPECT_EQ(input->read(all), 10'000'000u);
  EXPECT_EQ(input->most_left(), 0u);
}

TEST(Compression, LevelsAreChecked) {
  EXPECT_THROW(Deflater(Compression::gzip, 10, [](auto) {}), InvalidArgument);
  EXPECT_THROW(Deflater(Compression::zlib, -2, [](auto) {}), InvalidArgument);
}

}  // namespace
}  // namespace pando::data
