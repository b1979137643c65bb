// Records that are read individually.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/datasets/tools/record_pieces_impl.h"
#include "tests/data/record_files.h"
#include "tests/support/expect_error.h"

namespace pando::datasets {
namespace {

using testing_support::error_of;

class RecordPiecesTest : public testing::Test {
 protected:
  RecordPiecesTest()
      : plain_(folder_.write("a", records({bytes_of("one"), bytes_of("three")}))),
        packed_(folder_.write("b", gzip(records({bytes_of("5"), bytes_of("6"), {}})))) {}

  static std::vector<std::string> payloads(PieceReader& reader, int64_t unit) {
    std::vector<std::string> texts;
    reader.each_payload(unit, [&](std::span<const uint8_t> payload) {
      texts.emplace_back(payload.begin(), payload.end());
    });
    return texts;
  }

  TempFolder folder_;
  std::string plain_;
  std::string packed_;
};

TEST_F(RecordPiecesTest, ArePlainRecordsAndWholeCompressedFiles) {
  const auto pieces = find_pieces({plain_, packed_});
  EXPECT_EQ(pieces->pieces.size(), 3u);
  EXPECT_EQ(pieces->records(), 5);
  PieceReader reader(pieces);
  EXPECT_EQ(payloads(reader, 1), std::vector<std::string>{"three"});
  EXPECT_EQ(payloads(reader, 2), (std::vector<std::string>{"5", "6", ""}));
  EXPECT_EQ(payloads(reader, 0), std::vector<std::string>{"one"});
  EXPECT_EQ(reader.read(0).size(), 16u + 3);
  EXPECT_EQ(reader.read(2).size(), std::filesystem::file_size(packed_));
}

TEST_F(RecordPiecesTest, DamageIsAnError) {
  const auto pieces = find_pieces({plain_});
  Bytes content = records({bytes_of("one"), bytes_of("three")});
  content[19] ^= 1;      // the length of the second record
  content[12 + 1] ^= 1;  // the payload of the first
  folder_.write("a", content);
  PieceReader reader(pieces);
  EXPECT_SAYS(error_of<BadRecordError>([&] { payloads(reader, 0); }), "crc", "3 bytes");
  EXPECT_SAYS(error_of<BadRecordError>([&] { payloads(reader, 1); }), "byte 19");
  EXPECT_SAYS(error_of<BadRecordError>([&] { find_pieces({plain_}); }), "crc", "length");
}

TEST_F(RecordPiecesTest, AFileThatBecomesShorter) {
  const auto pieces = find_pieces({plain_});
  std::filesystem::resize_file(plain_, 30);
  PieceReader reader(pieces);
  EXPECT_SAYS(error_of<IoError>([&] { reader.read(1); }), "11 of 21", "byte 19");
}

TEST_F(RecordPiecesTest, WantsRecords) {
  EXPECT_SAYS(error_of<IoError>([&] { find_pieces({folder_.write("c", {})}); }),
              "at least one record");
  EXPECT_SAYS(error_of<IoError>([] { find_pieces({}); }), "at least one record");
}

}  // namespace
}  // namespace pando::datasets
