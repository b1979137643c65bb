// SPDX-License-Identifier: MIT
#include "pando/wire/json_tensor.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::wire {
namespace {

using testing_support::error_of;

TensorBuilder built(std::string_view text,
                    TensorBuilder::Numbers numbers = TensorBuilder::Numbers::f32,
                    TensorLimits limits = {}) {
  TensorBuilder builder(numbers, limits);
  JsonCursor cursor(text);
  builder.add(cursor);
  return builder;
}

TEST(JsonTensor, TakesItsShapeFromTheLists) {
  TensorBuilder builder = built("[[1, 2.5, -3e2], [4, NaN, 6]]");
  EXPECT_EQ(builder.shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(builder.f32().size(), 6U);
  EXPECT_EQ(builder.f32()[2], -300);
  EXPECT_TRUE(std::isnan(builder.f32()[4]));
  EXPECT_EQ(built("7").shape(), std::vector<int64_t>());
  EXPECT_EQ(built("[]").shape(), std::vector<int64_t>{0});
  EXPECT_EQ(built("[[],[]]").shape(), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(built("[[[1]]]").shape(), (std::vector<int64_t>{1, 1, 1}));
}

TEST(JsonTensor, CollectsValuesOfOneShape) {
  TensorBuilder builder;
  JsonCursor cursor("[[1, 2], [3, 4], [5, 6]]");
  cursor.enter_array();
  while (cursor.next_element()) builder.add(cursor);
  EXPECT_EQ(builder.values(), 3);
  EXPECT_EQ(builder.shape(), std::vector<int64_t>{2});
  EXPECT_EQ(builder.f32(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

// What is expected changes no result: values of that shape, of others, and what is not a value.
TEST(JsonTensor, ExpectationsChangeNothing) {
  for (const char* text :
       {"[[1, 2.5, -3e2], [4, NaN, 6]]", "[ [ 1 ,2.5,3 ] ,\n[4,\t5, 6]]", "[[1,2,3]]",
        "[[1,2],[3,4]]", "[[1,2,3],[4,5]]", "[[1,2,3],[4,5,6],[7,8,9]]", "[[1,2,3],[4,5,6",
        "[[1,2,3],[4,5,06]]", "[[1,2,3],[4,5,6.]]", "[[1,2,3],[4,5,\"x\"]]", "[1,2]", "7", "[]",
        "[[[1],2,3],[4,5,6]]", "[[0.123456789012345678901234567890, 1e400, 1], [1, 2, 3]]",
        "[[1 2, 3], [1, 2, 3]]",
        "[[0.84442185152504812, 12345678901234567890, 0.1], [-0, 16777217, 1e-45]]"}) {
    const auto outcome = [&](std::vector<int64_t> expected) -> std::string {
      TensorBuilder builder;
      builder.expect(std::move(expected));
      JsonCursor cursor(text);
      try {
        builder.add(cursor);
      } catch (const InvalidArgument& error) {
        return error.what();
      }
      std::string out = concat(cursor.offset(), " ", builder.values(), " ");
      append_tensor(out, builder.shape(), DType::f32, std::as_bytes(std::span(builder.f32())));
      return out;
    };
    EXPECT_EQ(outcome({2, 3}), outcome({})) << text;
  }
}

TEST(JsonTensor, KeepsWholeNumbers) {
  TensorBuilder builder = built("[1, -2147483648, 2147483647]", TensorBuilder::Numbers::i32);
  EXPECT_EQ(builder.i32(), (std::vector<int32_t>{1, INT32_MIN, INT32_MAX}));
  for (const char* bad : {"[1.5]", "[2147483648]", "[-2147483649]", "[1e30]"}) {
    EXPECT_SAYS(error_of([&] { built(bad, TensorBuilder::Numbers::i32); }), "int32");
  }
}

TEST(JsonTensor, ReadsBytes) {
  TensorBuilder builder = built(R"([{"b64": "Zm9v"}, "bar"])");
  EXPECT_TRUE(builder.has_bytes());
  EXPECT_EQ(builder.bytes(), (std::vector<std::string>{"foo", "bar"}));
  EXPECT_EQ(built(R"({"b64":""})").bytes(), std::vector<std::string>{""});
  for (const char* bad :
       {R"({"b64": "Zm9v", "x": 1})", R"({"b65": "Zm9v"})", R"({"b64": 1})", "{}"}) {
    EXPECT_SAYS(error_of([&] { built(bad); }), "b64");
  }
  EXPECT_SAYS(error_of([&] { built(R"({"b64": "?"})"); }), "Unable to base64 decode");
}

TEST(JsonTensor, RefusesOtherShapes) {
  EXPECT_SAYS(error_of([] { built("[[1,2],[3]]"); }),
              "Encountered list at unexpected size: 1 at level: 1 expected size: 2");
  EXPECT_SAYS(error_of([] { built("[[1,2],3]"); }), "level: 1 expected list");
  EXPECT_SAYS(error_of([] { built("[1,[2]]"); }), "level: 1 expected an element");
  EXPECT_SAYS(error_of([] { built("[[],[1]]"); }), "unexpected size: 1");
  EXPECT_SAYS(error_of([] { built("[[],1]"); }), "expected list");
  EXPECT_SAYS(error_of([] { built("[1,\"x\"]"); }), "both");
  EXPECT_SAYS(error_of([] { built("[{\"b64\":\"\"},1]"); }), "both");
  EXPECT_SAYS(error_of([] { built("[true]"); }), "true", "expected type: float");
  EXPECT_SAYS(error_of([] { built("[null]"); }), "null");
  EXPECT_SAYS(error_of([] { built("[1, 2"); }), "offset: 5");
  EXPECT_SAYS(error_of([] { built("[[[[[[[[[1]]]]]]]]]"); }), "8 levels");
  EXPECT_SAYS(error_of([] { built("[1,2,3,4]", TensorBuilder::Numbers::f32, {.elements = 3}); }),
              "at most 3");
  // A limit of their own: an empty string takes more memory than a number.
  EXPECT_SAYS(error_of([] { built("[\"\",\"\"]", TensorBuilder::Numbers::f32, {.strings = 1}); }),
              "at most 1 strings");
  EXPECT_EQ(built("[\"\",\"\"]", TensorBuilder::Numbers::f32, {.elements = 1}).bytes().size(), 2U);
}

TEST(JsonTensor, WritesNumbersThatClientsKnowAsFloats) {
  const auto text_of = [](float value) {
    std::string out;
    append_float(out, value);
    return out;
  };
  EXPECT_EQ(text_of(1), "1.0");
  EXPECT_EQ(text_of(-0.0F), "-0.0");
  EXPECT_EQ(text_of(0.1F), "0.1");
  EXPECT_EQ(text_of(1e30F), "1e+30");
  EXPECT_EQ(text_of(16777216), "16777216.0");
  EXPECT_EQ(text_of(NAN), "NaN");
  EXPECT_EQ(text_of(-INFINITY), "-Infinity");
  EXPECT_EQ(text_of(INFINITY), "Infinity");
  for (uint32_t bits = 1; bits < 0x7F800000; bits += 99'991) {
    float value = 0;
    std::memcpy(&value, &bits, 4);
    ASSERT_EQ(std::strtof(text_of(value).c_str(), nullptr), value);
  }
}

TEST(JsonTensor, WritesNestedLists) {
  const float floats[] = {1, 2, 3, 4, 5, 6};
  const int32_t ints[] = {7, -8};
  const auto text_of = [](std::vector<int64_t> shape, DType dtype, const void* data, size_t bytes) {
    std::string out;
    append_tensor(out, shape, dtype, {static_cast<const std::byte*>(data), bytes});
    return out;
  };
  EXPECT_EQ(text_of({2, 3}, DType::f32, floats, 24), "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
  EXPECT_EQ(text_of({1, 2, 1}, DType::f32, floats, 8), "[[[1.0], [2.0]]]");
  EXPECT_EQ(text_of({}, DType::f32, floats, 4), "1.0");
  EXPECT_EQ(text_of({2, 0}, DType::f32, floats, 0), "[[], []]");
  EXPECT_EQ(text_of({2}, DType::i32, ints, 8), "[7, -8]");
  const uint8_t bytes[] = {0, 255};
  EXPECT_EQ(text_of({2}, DType::u8, bytes, 2), "[0, 255]");
  EXPECT_THROW(text_of({1}, DType::f16, bytes, 2), InternalError);
}

}  // namespace
}  // namespace pando::wire
