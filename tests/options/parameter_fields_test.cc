#include "pando/options/parameter_fields.h"

#include <gtest/gtest.h>

#include "pando/options/usage_error.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

class ParameterFieldsTest : public testing::Test {
 protected:
  ParameterFieldsTest() {
    OptionTable& dictionary = table_.add_dictionary("params", "");
    fields_.add_key(dictionary, "on", ParameterRange::on_off);
    fields_.add_key(dictionary, "groups", ParameterRange::count);
    fields_.add_key(dictionary, "momentum", ParameterRange::fraction);
    fields_.add_key(dictionary, "share", ParameterRange::share);
    fields_.add_key(dictionary, "rate", ParameterRange::positive);
    fields_.add_key(dictionary, "decay", ParameterRange::not_negative);
    fields_.add_key(dictionary, "exponent", ParameterRange::any);
  }
  void assign(const std::string& text) {
    table_.assign(table_.find("params", "--params"), parse_yaml(text, "test"), {});
  }

  ParameterFields fields_;
  OptionTable table_;
};

TEST_F(ParameterFieldsTest, KeysHaveTheTypeOfTheirRange) {
  assign("{on: yes, groups: 8, momentum: 0, share: 1, rate: 1e-3, decay: 0, exponent: -8}");
  EXPECT_EQ(fields_.get("on"), 1);
  EXPECT_EQ(fields_.get("groups"), 8);
  EXPECT_EQ(fields_.get("share"), 1);
  EXPECT_EQ(fields_.get("exponent"), -8);
  assign("{on: no}");
  EXPECT_EQ(fields_.get("on"), 0);
  EXPECT_FALSE(fields_.get("groups"));
  EXPECT_FALSE(fields_.get("unknown"));
}

TEST_F(ParameterFieldsTest, WhatIsOutOfRangeIsRefused) {
  const auto error = [&](const std::string& text) { return error_of([&] { assign(text); }); };
  EXPECT_SAYS(error("{on: 3}"), "true or false");
  EXPECT_SAYS(error("{groups: 0}"), "at least 1");
  EXPECT_SAYS(error("{groups: 1.5}"), "a whole number");
  EXPECT_SAYS(error("{momentum: 1}"), "below 1");
  EXPECT_SAYS(error("{share: 1.5}"), "at most 1");
  EXPECT_SAYS(error("{rate: 0}"), "above 0");
  EXPECT_SAYS(error("{decay: -1}"), "at least 0");
}

TEST_F(ParameterFieldsTest, ValuesCanBeSet) {
  fields_.set("on", ParameterRange::on_off, 1);
  fields_.set("groups", ParameterRange::count, 4);
  fields_.set("rate", ParameterRange::positive, 0.5);
  EXPECT_EQ(fields_.get("on"), 1);
  EXPECT_EQ(fields_.get("groups"), 4);
  EXPECT_EQ(fields_.get("rate"), 0.5);
}

}  // namespace
}  // namespace pando
