#include "pando/data/tfrecord/wire.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"

namespace pando::data {
namespace {

using Bytes = std::vector<uint8_t>;

std::string wire_error(const Bytes& message) {
  try {
    for (WireReader reader(message, "place"); reader.next();) {
    }
  } catch (const IoError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Wire, ReadsEveryType) {
  const Bytes message = {0x08, 0x96, 0x01,                            // 1: varint 150
                         0x11, 1,    2,    3,    4,    5,   6, 7, 8,  // 2: fixed64
                         0x1a, 2,    'h',  'i',                       // 3: bytes
                         0x25, 1,    2,    3,    4,                   // 4: fixed32
                         0xf8, 0xff, 0xff, 0xff, 0x0f, 0x00};         // 2^29 - 1: varint 0
  WireReader reader(message, "place");
  auto field = reader.next();
  EXPECT_EQ(field->number, 1u);
  EXPECT_EQ(field->value, 150u);
  field = reader.next();
  EXPECT_EQ(field->type, WireType::fixed64);
  EXPECT_EQ(field->value, 0x0807060504030201u);
  EXPECT_EQ(field->offset, 3u);
  field = reader.next();
  EXPECT_EQ(field->type, WireType::bytes);
  EXPECT_EQ(field->bytes.size(), 2u);
  field = reader.next();
  EXPECT_EQ(field->type, WireType::fixed32);
  EXPECT_EQ(field->value, 0x04030201u);
  field = reader.next();
  EXPECT_EQ(field->number, (1u << 29) - 1);
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Wire, NumbersRoundTrip) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value :
         {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, ~uint64_t{0} >> bit}) {
      Bytes bytes;
      append_varint(bytes, value);
      WireReader reader(bytes, "place");
      EXPECT_EQ(reader.varint(), value);
      EXPECT_TRUE(reader.at_end());
    }
  }
}

TEST(Wire, Errors) {
  EXPECT_SAYS(wire_error({0x80}), "byte 0");
  EXPECT_SAYS(wire_error({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}),
              "byte 1", "64 bits");
  EXPECT_SAYS(wire_error({0x0a, 5, 1, 2}), "byte 1", "field", "5 bytes");
  EXPECT_SAYS(wire_error({0x0d, 5, 1, 2}), "byte 1", "field", "4 bytes");
  EXPECT_SAYS(wire_error({0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}),
              "byte 1", "field", "18446744073709551615 bytes");
  EXPECT_SAYS(wire_error({0x02}), "byte 0", "field", "tag");
  EXPECT_SAYS(wire_error({0x88, 0x80, 0x80, 0x80, 0x10, 0}), "byte 0", "field", "tag",
              "4294967304");
  for (const int type : {3, 4, 6, 7}) {
    EXPECT_SAYS(wire_error({static_cast<uint8_t>(8 + type)}), "byte 0", "field 1", "wire type",
                std::to_string(type), "2 or 5");
  }
}

TEST(Wire, OffsetsCountFromTheOutermostMessage) {
  const Bytes message = {0x0a, 3, 0x12, 1, 0x80};
  WireReader outer(message, "place");
  WireReader middle = outer.inside(*outer.next());
  WireReader inner = middle.inside(*middle.next());
  try {
    inner.next();
    FAIL();
  } catch (const IoError& error) {
    EXPECT_SAYS(error.what(), "byte 4");
  }
  const Bytes number = {0x08, 1};
  WireReader reader(number, "place");
  EXPECT_THROW(reader.inside(*reader.next()), IoError);
}

}  // namespace
}  // namespace pando::data
