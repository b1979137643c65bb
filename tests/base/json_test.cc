// JSON values: building, text, bytes, reading. Text is compared with the library's behind it.
// SPDX-License-Identifier: MIT
#include "pando/base/json.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using Other = nlohmann::ordered_json;
using testing_support::error_of;

std::string other_dump(const Other& json, int indent = -1) {
  return json.dump(indent, ' ', false, Other::error_handler_t::replace);
}

TEST(Json, BracesMakeAnObjectThatKeepsTheOrderOfItsKeys) {
  const Json json = {{"z", 1}, {"a", {{"y", nullptr}, {"b", true}}}, {"m", "text"}};
  EXPECT_EQ(json.dump(), R"({"z":1,"a":{"y":null,"b":true},"m":"text"})");
  const Json one = {{"key", "value"}};
  EXPECT_EQ(one.dump(), R"({"key":"value"})");
  EXPECT_EQ(Json().dump(), "null");
  EXPECT_EQ(Json::array().dump(), "[]");
  EXPECT_EQ(Json::object().dump(), "{}");
}

TEST(Json, RangesAndPairsBecomeArraysAndMapsObjects) {
  const std::vector<std::pair<std::string, double>> pairs = {{"a", 1}, {"b", 2.5}};
  const Json json = {{"pairs", pairs},
                     {"array", std::array<int, 2>{1, 2}},
                     {"strings", std::vector<std::string>{"x", "y"}},
                     {"map", std::map<std::string, std::string>{{"k", "v"}}},
                     {"view", std::string_view("view")}};
  EXPECT_EQ(json.dump(), R"({"pairs":[["a",1.0],["b",2.5]],"array":[1,2],"strings":["x","y"],)"
                         R"("map":{"k":"v"},"view":"view"})");
}

TEST(Json, NullBecomesWhatIsAddedToIt) {
  Json json;
  json["rows"].push_back({{"row", 0}});
  json["rows"].push_back(2);
  json["rows"].push_back(Json::array());
  json["first"] = 1;
  json["first"] = {{"now", "an object"}};
  EXPECT_EQ(json.dump(), R"({"rows":[{"row":0},2,[]],"first":{"now":"an object"}})");
  EXPECT_THROW(json.push_back(1), InternalError);
  EXPECT_THROW(json["rows"]["key"], InternalError);
}

TEST(Json, UpdateReplacesAndAdds) {
  Json json = {{"a", 1}, {"b", 2}};
  json.update({{"b", 3}, {"c", 4}});
  EXPECT_EQ(json.dump(), R"({"a":1,"b":3,"c":4})");
}

TEST(Json, CopiesAreOfTheirOwn) {
  Json json = {{"list", Json::array()}};
  const Json copy = json;
  json["list"].push_back(1);
  EXPECT_EQ(copy.dump(), R"({"list":[]})");
  EXPECT_EQ(json.dump(), R"({"list":[1]})");
}

TEST(Json, TextIsThatOfTheLibraryBehindIt) {
  const std::string texts[] = {"plain", "quote \" slash \\ / tab \t line \n zero \x01 \x7f",
                               "gr\xc3\xbc\xc3\x9f \xf0\x9f\x8c\xb3", "no utf-8: \xff\xfe \xc3",
                               ""};
  const double reals[] = {0.0,           -0.0,
                          1.0,           0.1,
                          1e21,          1e-7,
                          123456789.125, 1.0 / 3,
                          5e-324,        std::numeric_limits<double>::max(),
                          std::nan(""),  std::numeric_limits<double>::infinity()};
  Json json = {{"nested", {{"empty", Json::array()}, {"none", Json::object()}}}};
  Other other = {{"nested", {{"empty", Other::array()}, {"none", Other::object()}}}};
  for (const std::string& text : texts) {
    json["texts"].push_back(text);
    other["texts"].push_back(text);
    json["keys"][text] = text;
    other["keys"][text] = text;
  }
  for (const double real : reals) {
    json["reals"].push_back(real);
    json["reals"].push_back(static_cast<float>(real));
    other["reals"].push_back(real);
    other["reals"].push_back(static_cast<float>(real));
  }
  json["wholes"] = std::vector<int64_t>{0, -1, std::numeric_limits<int64_t>::min()};
  other["wholes"] = std::vector<int64_t>{0, -1, std::numeric_limits<int64_t>::min()};
  json["unsigned"] = std::numeric_limits<uint64_t>::max();
  other["unsigned"] = std::numeric_limits<uint64_t>::max();
  for (const int indent : {-1, 0, 1, 2}) EXPECT_EQ(json.dump(indent), other_dump(other, indent));
  EXPECT_EQ(Json::parse(json.dump(2)).dump(1), other_dump(Other::parse(other_dump(other)), 1));
}

TEST(Json, WhatIsNotFiniteBecomesNull) {
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(-std::numeric_limits<double>::infinity()).dump(), "null");
}

TEST(Json, BytesThatAreNoUtf8AreReplaced) { EXPECT_EQ(Json("a\xff").dump(), "\"a\xef\xbf\xbd\""); }

TEST(Json, ParsesWhatItDumps) {
  const std::string text =
      R"({"a":[1,-2,2.5,true,false,null,"x\n\u00fc"],"b":{},"c":18446744073709551615,"a2":[[]]})";
  EXPECT_EQ(Json::parse(text).dump(), other_dump(Other::parse(text)));
  EXPECT_EQ(Json::parse(R"({"a":1,"b":2,"a":3})").dump(), R"({"a":3,"b":2})");
}

TEST(Json, ParseErrorsNameThePlace) {
  const auto error = [](const std::string& text) {
    EXPECT_FALSE(Json::try_parse(text).has_value());
    return error_of<IoError>([&] { Json::parse(text); });
  };
  EXPECT_SAYS(error("{\"a\": 1,\n b}"), "JSON: parse error at line 2, column 2: ");
  EXPECT_SAYS(error(""), "JSON: parse error at line 1, column 1: ");
  EXPECT_SAYS(error("[1] 2"), "JSON: parse error at line 1, column 5: ");
  EXPECT_SAYS(error("\"\xff\""), "JSON: parse error at line 1, column 2: ");
  EXPECT_EQ(error("1e999"), "JSON: number overflow parsing '1e999'");
  EXPECT_EQ(error(std::string(100000, '[')), "JSON: nested more than 500 deep");
  EXPECT_EQ(Json::try_parse("[1]")->dump(), "[1]");
}

TEST(Json, BytesKeepEveryBit) {
  const double numbers[] = {0.1,
                            -0.0,
                            1.5,
                            5e-324,
                            std::numeric_limits<double>::infinity(),
                            std::bit_cast<double>(0x7ff8000000000123),
                            -std::nan("")};
  for (const double number : numbers) {
    const double back = Json::from_bytes(Json(number).to_bytes()).get<double>();
    EXPECT_EQ(std::bit_cast<uint64_t>(back), std::bit_cast<uint64_t>(number)) << number;
  }
  const Json json = {{"seed", std::numeric_limits<uint64_t>::max()},
                     {"least", std::numeric_limits<int64_t>::min()},
                     {"path", "no utf-8: \xff"},
                     {"list", std::vector<int>{1, -200, 70000}},
                     {"null", nullptr},
                     {"yes", true}};
  const Json back = Json::from_bytes(json.to_bytes());
  EXPECT_EQ(back.dump(), json.dump());
  EXPECT_EQ(back.get<uint64_t>("seed"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(back.get<int64_t>("least"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(back.get<std::string>("path"), "no utf-8: \xff");
}

TEST(Json, BytesThatAreCutOffOrNotOursAreErrors) {
  const std::string bytes = Json(std::vector<int>{1, 2}).to_bytes();
  EXPECT_SAYS(error_of<IoError>([&] { Json::from_bytes(bytes.substr(0, 2)); }),
              "MessagePack: parse error at byte 3: ");
  EXPECT_EQ(error_of<IoError>([] { Json::from_bytes("\xc4\x01x"); }),
            "MessagePack: expected no binary value");
}

TEST(Json, GetsValuesOfManyTypes) {
  const Json json = Json::parse(R"({"whole": 3, "real": 2.5, "exact": 4.0, "text": "x", "yes": true,
      "list": [1, 2], "pairs": [["a", 1.5]], "map": {"k": "v"}, "nothing": null})");
  EXPECT_EQ(json.get<int>("whole"), 3);
  EXPECT_EQ(json.get<uint64_t>("whole"), 3u);
  EXPECT_EQ(json.get<double>("whole"), 3.0);
  EXPECT_EQ(json.get<double>("real"), 2.5);
  EXPECT_EQ(json.get<int64_t>("exact"), 4);
  EXPECT_EQ(json.get<std::string>("text"), "x");
  EXPECT_TRUE(json.get<bool>("yes"));
  EXPECT_EQ(json.get<std::vector<int64_t>>("list"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ((json.get<std::array<double, 2>>("list")), (std::array<double, 2>{1, 2}));
  using Pairs = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(json.get<Pairs>("pairs"), (Pairs{{"a", 1.5}}));
  using Texts = std::map<std::string, std::string>;
  EXPECT_EQ(json.get<Texts>("map"), (Texts{{"k", "v"}}));
  EXPECT_TRUE(json.at("nothing").is_null());
  EXPECT_TRUE(Json::array().is_array() && !json.is_array() && Json("x").is_string());
  EXPECT_EQ(json.get<int>("absent", 7), 7);
  EXPECT_EQ(json.get<int>("whole", 7), 3);
  EXPECT_EQ(json.find("absent"), nullptr);
  EXPECT_EQ(json.members()[1].key, "real");
  EXPECT_EQ(json.at("list").items()[1].get<int>(), 2);
}

TEST(Json, ErrorsOfGettersNameTheKey) {
  const Json json = Json::parse(R"({"text": "x", "real": 2.5, "large": 3000000000, "minus": -1,
      "most": 18446744073709551615, "list": [1, "x"], "nothing": null})");
  EXPECT_EQ(error_of<IoError>([&] { json.get<double>("text"); }),
            "JSON: expected a number for key 'text', got \"x\"");
  EXPECT_EQ(error_of<IoError>([&] { json.get<bool>("text"); }),
            "JSON: expected true or false for key 'text', got \"x\"");
  EXPECT_EQ(error_of<IoError>([&] { json.get<std::string>("nothing"); }),
            "JSON: expected a string for key 'nothing', got null");
  EXPECT_EQ(error_of<IoError>([&] { json.get<int>("large"); }),
            "JSON: expected a whole number from -2147483648 to 2147483647 for key 'large', got "
            "3000000000");
  EXPECT_EQ(error_of<IoError>([&] { json.get<int>("real"); }),
            "JSON: expected a whole number from -2147483648 to 2147483647 for key 'real', got 2.5");
  EXPECT_EQ(error_of<IoError>([&] { json.get<uint64_t>("minus"); }),
            "JSON: expected a whole number from 0 to 18446744073709551615 for key 'minus', got -1");
  EXPECT_EQ(error_of<IoError>([&] { json.get<uint32_t>("most"); }),
            "JSON: expected a whole number from 0 to 4294967295 for key 'most', got "
            "18446744073709551615");
  EXPECT_SAYS(error_of<IoError>([&] { json.get<int64_t>("most"); }), "'most'");
  EXPECT_EQ(error_of<IoError>([&] { json.get<std::vector<double>>("list"); }),
            "JSON: expected a number for key 'list', got \"x\"");
  EXPECT_EQ(error_of<IoError>([&] { json.get<std::array<double, 3>>("list"); }),
            "JSON: expected an array of 3 for key 'list', got [1,\"x\"]");
  EXPECT_EQ(error_of<IoError>([&] { Json::parse(R"({"a":1,"b":2})").get<int>("c"); }),
            "JSON: expected key 'c', got an object with the keys a, b");
  EXPECT_EQ(error_of<IoError>([&] { Json::object().at("c"); }),
            "JSON: expected key 'c', got an object with no keys");
  EXPECT_EQ(error_of<IoError>([&] { Json(3).at("c"); }),
            "JSON: expected an object with key 'c', got 3");
  EXPECT_SAYS(error_of<IoError>([&] { json.items(); }), "JSON: expected an array, got {\"text\"");
  EXPECT_EQ(error_of<IoError>([&] { json.at("list").members(); }),
            "JSON: expected an object, got [1,\"x\"]");
}

TEST(Json, StrictlyParsedObjectsHaveEveryKeyOnce) {
  EXPECT_EQ(Json::parse_strictly(R"({"a":{"a":1},"b":[{"a":2}]})").dump(),
            R"({"a":{"a":1},"b":[{"a":2}]})");
  EXPECT_SAYS(error_of<IoError>([] { Json::parse_strictly(R"({"a":{"b":1,"b":2}})"); }),
              "'b' occurs twice");
  EXPECT_EQ(Json::parse(R"({"a":1,"a":2})").get<int>("a"), 2);
}

}  // namespace
}  // namespace pando
