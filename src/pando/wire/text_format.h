// Reads the text format of protocol buffers, in which TensorFlow Serving's configurations are
// written:  model_config_list { config { name: "x" base_path: "/models/x" } }
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pando::wire {

struct TextMessage;

struct TextField {
  std::string name;
  std::string place;  // "line:column"
  bool is_message = false;
  bool is_string = false;  // was quoted
  std::string text;        // of a scalar: a number, a word, or a string without its quotes
  std::vector<TextMessage> message;  // of a message: exactly one
};

struct TextMessage {
  std::vector<TextField> fields;  // in their order; a repeated field occurs several times
};

// Knows no schema: fields are what the text says. Throws InvalidArgument with "source:line:column".
TextMessage parse_text_format(std::string_view text, const std::string& source);

// The value of a scalar field. Throw InvalidArgument that names `source`, the field and its place.
int64_t int_of(const TextField& field, const std::string& source);
bool bool_of(const TextField& field, const std::string& source);
std::string string_of(const TextField& field, const std::string& source);
const TextMessage& message_of(const TextField& field, const std::string& source);

}  // namespace pando::wire
