// SPDX-License-Identifier: MIT
#include "pando/wire/text_format.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::wire {
namespace {

using testing_support::error_of;

// name=value, name{...}
std::string dumped(const TextMessage& message) {
  std::string text;
  for (const TextField& field : message.fields) {
    if (!text.empty()) text += " ";
    text += field.name;
    text += field.is_message ? "{" + dumped(field.message.front()) + "}" : "=" + field.text;
  }
  return text;
}
std::string dumped(std::string_view text) { return dumped(parse_text_format(text, "f")); }

TEST(TextFormat, ReadsWhatTensorFlowServingDocuments) {
  EXPECT_EQ(dumped(R"(
    model_config_list {  # a comment
      config {
        name: 'my_first_model'
        base_path: "/tmp/my_first_model/"
        model_platform: "tensorflow"
        model_version_policy { specific { versions: 42 versions: 43 } }
        version_labels { key: 'stable' value: 43 }
      }
      config: < name: "b" base_path: "/b" >
    })"),
            "model_config_list{config{name=my_first_model base_path=/tmp/my_first_model/ "
            "model_platform=tensorflow model_version_policy{specific{versions=42 versions=43}} "
            "version_labels{key=stable value=43}} config{name=b base_path=/b}}");
  EXPECT_EQ(dumped("max_batch_size { value: 128 }\nallowed_batch_sizes: [1, 2, 4]"),
            "max_batch_size{value=128} allowed_batch_sizes=1 allowed_batch_sizes=2 "
            "allowed_batch_sizes=4");
  EXPECT_EQ(dumped("a: 1, b: 2; c: [] d: [{x: 1}, <>] e: 'x' \"y\""), "a=1 b=2 d{x=1} d{} e=xy");
  EXPECT_EQ(dumped(R"(a: "\n\x41\101\\\"")"), "a=\nAA\\\"");
  EXPECT_EQ(dumped(""), "");
}

TEST(TextFormat, NamesThePlaceOfMistakes) {
  const auto error = [](std::string_view text) {
    return error_of([&] { parse_text_format(text, "file"); });
  };
  EXPECT_SAYS(error("a: 1\nb ?"), "file:2:3", "':'");
  EXPECT_SAYS(error("a {"), "file:1:4", "'}'");
  EXPECT_SAYS(error("a: <x: 1}"), "file:1:9");
  EXPECT_SAYS(error("}"), "name of a field");
  EXPECT_SAYS(error("a:"), "a value");
  EXPECT_SAYS(error("a: 'x"), "end of a string");
  EXPECT_SAYS(error("a: 'x\\"), "end of a string");
  EXPECT_SAYS(error("a: '\\q'"), "escape");
  EXPECT_SAYS(error("a: [1 2]"), "']'");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "a {";
  EXPECT_SAYS(error(deep), "too deep");
}

TEST(TextFormat, ChecksTypes) {
  const TextMessage message = parse_text_format("i: -5 b: true c: False s: 's' m {} o: x", "file");
  const auto& fields = message.fields;
  EXPECT_EQ(int_of(fields[0], "file"), -5);
  EXPECT_TRUE(bool_of(fields[1], "file"));
  EXPECT_FALSE(bool_of(fields[2], "file"));
  EXPECT_EQ(string_of(fields[3], "file"), "s");
  EXPECT_TRUE(message_of(fields[4], "file").fields.empty());
  EXPECT_SAYS(error_of([&] { int_of(fields[5], "file"); }), "file:1:", "o: expected a whole number",
              "'x'");
  EXPECT_SAYS(error_of([&] { int_of(fields[4], "file"); }), "got a message");
  EXPECT_SAYS(error_of([&] { bool_of(fields[5], "file"); }), "true or false");
  EXPECT_SAYS(error_of([&] { string_of(fields[0], "file"); }), "quotation marks");
  EXPECT_SAYS(error_of([&] { message_of(fields[0], "file"); }), "{ ... }");
}

}  // namespace
}  // namespace pando::wire
