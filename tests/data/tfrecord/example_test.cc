#include "pando/data/tfrecord/example.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "tests/data/record_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

// A field of type bytes with this number and payload.
Bytes field(uint8_t number, const Bytes& payload) {
  return Bytes{static_cast<uint8_t>(number << 3 | 2), static_cast<uint8_t>(payload.size())} +
         payload;
}

Bytes entry(const std::string& key, const Bytes& feature) {
  return field(1, field(1, bytes_of(key)) + field(2, feature));
}

Bytes example(const Bytes& entries) { return field(1, entries); }

std::string example_error(const Bytes& record) {
  try {
    const Example decoded(record, "file");
  } catch (const IoError& error) {
    return error.what();
  }
  return "no error";
}

template <typename T>
std::vector<T> vector_of(std::span<const T> values) {
  return {values.begin(), values.end()};
}

// The record that the npm package `tfrecord` 0.2.0 ships as its sample: answer 42, pi 3.14, name
// ABC, written by protobuf.js.
const Bytes kForeign = {0x0a, 0x32, 0x0a, 0x0f, 0x0a, 0x06, 0x61, 0x6e, 0x73, 0x77, 0x65,
                        0x72, 0x12, 0x05, 0x1a, 0x03, 0x0a, 0x01, 0x2a, 0x0a, 0x0e, 0x0a,
                        0x02, 0x70, 0x69, 0x12, 0x08, 0x12, 0x06, 0x0a, 0x04, 0xc3, 0xf5,
                        0x48, 0x40, 0x0a, 0x0f, 0x0a, 0x04, 0x6e, 0x61, 0x6d, 0x65, 0x12,
                        0x07, 0x0a, 0x05, 0x0a, 0x03, 0x41, 0x42, 0x43};

TEST(Example, ReadsWhatOthersWrote) {
  const Example decoded(kForeign);
  EXPECT_EQ(decoded.keys(), (std::vector<std::string>{"answer", "name", "pi"}));
  EXPECT_EQ(decoded.integer("answer"), 42);
  EXPECT_EQ(decoded.number("pi"), 3.14f);
  EXPECT_EQ(decoded.text("name"), "ABC");
}

TEST(Example, GoldenBytesOfEveryListKind) {
  const Bytes bytes = example(entry("b", field(1, field(1, {7, 8}) + field(1, {}))));
  const Bytes packed_floats =
      example(entry("f", field(2, field(1, {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0}))));
  const Bytes packed_ints =
      example(entry("i", field(3, field(1, {0x96, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                            0xff, 0xff, 0x01}))));
  EXPECT_EQ(ExampleBuilder().bytes_list("b", {{7, 8}, {}}).encode(), bytes);
  EXPECT_EQ(ExampleBuilder().floats("f", {1.5f, -2.0f}).encode(), packed_floats);
  EXPECT_EQ(ExampleBuilder().ints("i", {150, -1}).encode(), packed_ints);

  const Example b(bytes);
  ASSERT_EQ(b.bytes_list("b").size(), 2u);
  EXPECT_EQ(vector_of(b.bytes_list("b")[0]), (Bytes{7, 8}));
  EXPECT_TRUE(b.bytes_list("b")[1].empty());
  EXPECT_EQ(vector_of(Example(packed_floats).floats("f")), (std::vector<float>{1.5f, -2.0f}));
  EXPECT_EQ(vector_of(Example(packed_ints).ints("i")), (std::vector<int64_t>{150, -1}));
}

TEST(Example, ReadsListsThatAreNotPackedOrPartly) {
  const Bytes one = {0x0d, 0, 0, 0xc0, 0x3f};  // 1: fixed32 1.5
  const Bytes floats = example(entry("f", field(2, one + field(1, {0, 0, 0, 0xc0}) + one)));
  EXPECT_EQ(vector_of(Example(floats).floats("f")), (std::vector<float>{1.5f, -2.0f, 1.5f}));
  const Bytes number = {0x08, 0x05};
  const Bytes ints = example(entry("i", field(3, number + field(1, {1, 2}) + number)));
  EXPECT_EQ(vector_of(Example(ints).ints("i")), (std::vector<int64_t>{5, 1, 2, 5}));
}

TEST(Example, EmptyListsAndFeaturesAreAllowed) {
  EXPECT_TRUE(Example(Bytes{}).keys().empty());
  EXPECT_TRUE(Example(example({})).keys().empty());
  const Bytes record = ExampleBuilder().bytes_list("b", {}).floats("f", {}).ints("i", {}).encode();
  const Example decoded(record);
  EXPECT_TRUE(decoded.bytes_list("b").empty());
  EXPECT_TRUE(decoded.floats("f").empty());
  EXPECT_TRUE(decoded.ints("i").empty());
  const Bytes no_list = example(entry("n", {}));
  EXPECT_EQ(Example(no_list).kind("n"), FeatureKind::none);
  const Bytes no_key = example(field(1, field(2, field(3, {0x08, 0x05}))));
  EXPECT_EQ(Example(no_key).integer(""), 5);
}

TEST(Example, SkipsUnknownFields) {
  const Bytes unknown = field(7, {1, 2, 3}) + Bytes{0x48, 1, 0x51, 1, 2, 3, 4, 5, 6, 7, 8};
  const Bytes record =
      unknown +
      field(1, unknown + field(1, field(1, bytes_of("i")) + unknown +
                                      field(2, unknown + field(3, unknown + Bytes{0x08, 5})))) +
      unknown;
  EXPECT_EQ(Example(record).integer("i"), 5);
}

TEST(Example, RoundTripOfManyFeatures) {
  ExampleBuilder builder;
  std::vector<float> floats = {0.0f, -0.0f, INFINITY, 1e-42f, 3.4e38f};
  std::vector<int64_t> ints;
  for (int i = 0; i < 1000; ++i) ints.push_back(int64_t{1} << (i % 64));
  builder.floats("floats", floats)
      .ints("ints", ints)
      .text("text", "ü\n")
      .bytes("large", Bytes(70000, 3));
  for (int i = 0; i < 300; ++i) builder.ints(concat("key", i), {i, -i});
  const Bytes record = builder.encode();
  EXPECT_EQ(record, builder.encode());
  const Example decoded(record);
  EXPECT_EQ(decoded.keys().size(), 304u);
  EXPECT_EQ(vector_of(decoded.floats("floats", 5)), floats);
  EXPECT_TRUE(std::signbit(decoded.floats("floats")[1]));
  EXPECT_EQ(vector_of(decoded.ints("ints")), ints);
  EXPECT_EQ(decoded.text("text"), "ü\n");
  EXPECT_EQ(decoded.bytes("large").size(), 70000u);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(decoded.ints(concat("key", i), 2)[1], -i);
}

TEST(Example, ErrorsNameKeyFoundAndWanted) {
  const Bytes record = ExampleBuilder().ints("label", {1, 2}).text("name", "x").encode();
  const Example decoded(record, "file: record 3");
  EXPECT_SAYS(error_of<IoError>([&] { decoded.bytes("label"); }), "record 3", "'label'",
              "int64_list", "bytes_list");
  EXPECT_SAYS(error_of<IoError>([&] { decoded.floats("label"); }), "record 3", "'label'",
              "int64_list", "float_list");
  EXPECT_SAYS(error_of<IoError>([&] { decoded.ints("name"); }), "record 3", "'name'", "bytes_list",
              "int64_list");
  EXPECT_SAYS(error_of<IoError>([&] { decoded.integer("label"); }), "record 3", "'label'",
              "2 values");
  EXPECT_SAYS(error_of<IoError>([&] { decoded.ints("label", 3); }), "record 3", "'label'",
              "2 values");
  EXPECT_SAYS(error_of<IoError>([&] { decoded.text("nam"); }), "record 3", "'nam'", "bytes_list",
              "'label'", "'name'");
  EXPECT_SAYS(error_of<IoError>([&] { decoded.kind("nam"); }), "record 3", "'nam'", "'label'",
              "'name'");
  EXPECT_TRUE(decoded.has("name"));
  EXPECT_FALSE(decoded.has("nam"));
  const Bytes no_list = example(entry("n", {}));
  EXPECT_SAYS(error_of<IoError>([&] { Example(no_list).ints("n"); }), "'n'", "int64_list");
}

// Errors stay one line of ASCII whatever the keys are.
TEST(Example, ErrorsQuoteStrangeKeys) {
  const Bytes record =
      ExampleBuilder().ints("a\n\x1b\xff", {}).ints(std::string(200, 'k'), {}).encode();
  EXPECT_SAYS(error_of<IoError>([&] { Example(record).ints("x"); }), "'x'", "int64_list",
              "'a\\x0a\\x1b\\xff', '" + std::string(100, 'k') + "...'");
}

TEST(Example, RefusesTwoMeanings) {
  const Bytes five = field(3, {0x08, 5});
  EXPECT_SAYS(example_error(example(entry("i", five) + entry("i", five))), "byte 13", "'i'",
              "twice");
  EXPECT_SAYS(example_error(example(entry("i", five + field(2, {})))), "byte 13", "'i'", "second",
              "list");
  const Bytes two_keys = field(1, field(1, bytes_of("a")) + field(1, bytes_of("b")));
  EXPECT_SAYS(example_error(example(two_keys)), "byte 7", "keys");
  const Bytes two_values = field(1, field(2, five) + field(2, five));
  EXPECT_NE(example_error(example(two_values)), "no error");
}

TEST(Example, RefusesWrongWireTypes) {
  EXPECT_SAYS(example_error({0x08, 1}), "byte 0", "field 1", "varint");
  EXPECT_NE(example_error(example({0x08, 1})), "no error");
  EXPECT_NE(example_error(example(field(1, {0x08, 1}))), "no error");
  EXPECT_SAYS(example_error(example(entry("b", field(1, {0x08, 1})))), "byte 11", "field 1",
              "varint");
  EXPECT_SAYS(example_error(example(entry("f", field(2, {0x08, 1})))), "byte 11", "field 1",
              "varint", "fixed32");
  EXPECT_SAYS(example_error(example(entry("i", field(3, {0x0d, 1, 2, 3, 4})))), "byte 11",
              "field 1", "fixed32", "varint");
  EXPECT_SAYS(example_error(example(entry("f", field(2, field(1, {1, 2, 3}))))), "byte 11",
              "3 bytes");
  EXPECT_NE(example_error(example(entry("i", field(3, field(1, {0x80}))))), "no error");
}

// Every cut ends in an error or at the end of the only top-level field.
TEST(Example, TruncationAtEveryByte) {
  for (size_t kept = 1; kept < kForeign.size(); ++kept) {
    EXPECT_NE(example_error(
                  Bytes(kForeign.begin(), kForeign.begin() + static_cast<std::ptrdiff_t>(kept))),
              "no error");
  }
}

TEST(Example, TenThousandMutationsAreHarmless) {
  RandomStream random(3);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random.next_below(bound)); };
  int accepted = 0;
  for (int i = 0; i < 10000; ++i) {
    Bytes record = kForeign;
    for (size_t changes = 1 + below(3); changes > 0 && !record.empty(); --changes) {
      const size_t at = below(record.size());
      if (below(4) == 0) record.resize(at);
      if (at < record.size()) record[at] = static_cast<uint8_t>(random.next_word());
    }
    accepted += example_error(record) == "no error" ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);  // a changed value is not an error here; the record's crc detects it
  EXPECT_LT(accepted, 9000);
}

}  // namespace
}  // namespace pando
