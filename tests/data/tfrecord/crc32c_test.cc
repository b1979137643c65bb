#include "pando/data/tfrecord/crc32c.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/random.h"

namespace pando::data {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes random_bytes(size_t count) {
  RandomStream random(7);
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next_word());
  return bytes;
}

// The test vectors of RFC 3720 B.4 and the usual check value.
TEST(Crc32c, PublishedValues) {
  Bytes up(32);
  for (size_t i = 0; i < 32; ++i) up[i] = static_cast<uint8_t>(i);
  Bytes down = up;
  std::ranges::reverse(down);
  const std::string_view digits = "123456789";
  const std::vector<std::pair<Bytes, uint32_t>> known = {
      {{}, 0},
      {Bytes(32, 0), 0x8a9136aa},
      {Bytes(32, 0xff), 0x62a8ab43},
      {up, 0x46dd794e},
      {down, 0x113fdb5c},
      {Bytes(digits.begin(), digits.end()), 0xe3069283}};
  for (const auto& [bytes, wanted] : known) {
    EXPECT_EQ(crc32c(bytes), wanted);
    EXPECT_EQ(crc32c_by_table(bytes), wanted);
  }
}

// Covers the ends of words and of the three streams, at every alignment.
TEST(Crc32c, InstructionAndTableAgree) {
  const Bytes bytes = random_bytes(20000);
  for (const size_t around : {0u, 64u, 3072u, 6144u, 19900u}) {
    for (size_t size = around; size < around + 20; ++size) {
      for (size_t start = 0; start < 9; ++start) {
        const auto part = std::span(bytes).subspan(start, size);
        ASSERT_EQ(crc32c(part), crc32c_by_table(part)) << size << " bytes from " << start;
      }
    }
  }
}

TEST(Crc32c, GoesOnFromABeginning) {
  const Bytes bytes = random_bytes(10000);
  const auto all = std::span<const uint8_t>(bytes);
  for (const size_t cut : {0u, 1u, 8u, 3071u, 3072u, 9999u, 10000u}) {
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), crc32c(all));
    EXPECT_EQ(crc32c_by_table(all.subspan(cut), crc32c_by_table(all.first(cut))), crc32c(all));
  }
}

// Made with python3-crc32c and the formula of the format.
TEST(Crc32c, Masked) {
  const std::string_view text = "pando";
  EXPECT_EQ(masked_crc32c(Bytes(text.begin(), text.end())), 0x8513ddb2u);
  EXPECT_EQ(masked_crc32c({}), 0xa282ead8u);
}

}  // namespace
}  // namespace pando::data
