// SPDX-License-Identifier: MIT
#include <cstring>

#include "pando/base/error.h"
#include "pando/rest/open_inference_impl.h"
#include "pando/wire/base64.h"

namespace pando::rest {
namespace {

using Cursor = wire::JsonCursor;
using serve::ElementType;
constexpr int64_t kMostElements = int64_t{1} << 26;
constexpr size_t kMostTensors = 64;

struct OipTypeName {
  ElementType type;
  std::string_view name;
};
constexpr OipTypeName kTypeNames[] = {{ElementType::f32, "FP32"},  {ElementType::f16, "FP16"},
                                      {ElementType::bf16, "BF16"}, {ElementType::u8, "UINT8"},
                                      {ElementType::i32, "INT32"}, {ElementType::bytes, "BYTES"}};

// An input as the JSON describes it. The data may come before the type, so they are read last.
struct OipInput {
  serve::InputTensor tensor;
  std::string datatype;
  std::string_view data;  // JSON; empty: none
  std::optional<int64_t> binary_bytes;
};

std::string string_at(Cursor& cursor, std::string_view key) {
  if (cursor.kind() != Cursor::Kind::string)
    throw InvalidArgument("'", key, "': expected a string");
  std::string text;
  cursor.string(text);
  return text;
}

int64_t whole_at(Cursor& cursor, std::string_view key) {
  const double value = cursor.kind() == Cursor::Kind::number ? cursor.number() : -1;
  if (!(value >= 0 && value < 9e15) || value != static_cast<double>(static_cast<int64_t>(value))) {
    throw InvalidArgument("'", key, "': expected a whole number that is not negative");
  }
  return static_cast<int64_t>(value);
}

bool truth_at(Cursor& cursor, std::string_view key) {
  if (cursor.kind() != Cursor::Kind::truth) {
    throw InvalidArgument("'", key, "': expected true or false");
  }
  return cursor.truth();
}

template <typename Member>
void each_member(Cursor& cursor, std::string_view what, Member member) {
  if (cursor.kind() != Cursor::Kind::object)
    throw InvalidArgument("'", what, "': expected an object");
  std::string key;
  cursor.enter_object();
  while (cursor.next_member(key)) member(key);
}

template <typename Element>
void each_element(Cursor& cursor, std::string_view what, Element element) {
  if (cursor.kind() != Cursor::Kind::array) throw InvalidArgument("'", what, "': expected a list");
  cursor.enter_array();
  while (cursor.next_element()) element();
}

OipInput read_input(Cursor& cursor) {
  OipInput input;
  each_member(cursor, "inputs", [&](const std::string& key) {
    if (key == "name") {
      input.tensor.name = string_at(cursor, key);
    } else if (key == "datatype") {
      input.datatype = string_at(cursor, key);
    } else if (key == "shape") {
      each_element(cursor, key, [&] { input.tensor.shape.push_back(whole_at(cursor, key)); });
    } else if (key == "parameters") {
      each_member(cursor, key, [&](const std::string& parameter) {
        if (parameter == "binary_data_size") {
          input.binary_bytes = whole_at(cursor, parameter);
        } else {
          cursor.skip();
        }
      });
    } else if (key == "data") {
      cursor.kind();
      const size_t begin = cursor.offset();
      cursor.skip();
      input.data = cursor.text_from(begin);
    } else {
      cursor.skip();
    }
  });
  return input;
}

OipOutput read_output(Cursor& cursor) {
  OipOutput output;
  each_member(cursor, "outputs", [&](const std::string& key) {
    if (key == "name") {
      output.name = string_at(cursor, key);
    } else if (key == "parameters") {
      each_member(cursor, key, [&](const std::string& parameter) {
        if (parameter == "binary_data") {
          output.is_binary = truth_at(cursor, parameter);
        } else {
          cursor.skip();
        }
      });
    } else {
      cursor.skip();
    }
  });
  return output;
}

void read_parameters(Cursor& cursor, OipBody& body) {
  each_member(cursor, "parameters", [&](const std::string& key) {
    if (key == "binary_data_output") {
      body.binary_outputs = truth_at(cursor, key);
    } else if (key == "timeout") {
      body.timeout_us = whole_at(cursor, key);
    } else {
      cursor.skip();
    }
  });
}

int64_t elements_of(const serve::InputTensor& tensor) {
  int64_t elements = 1;
  for (const int64_t extent : tensor.shape) {
    // Extents are below 2^53, so the product of two limits does not overflow.
    elements = extent > kMostElements || elements * extent > kMostElements ? kMostElements + 1
                                                                           : elements * extent;
    if (elements > kMostElements) {
      throw InvalidArgument("input '", tensor.name, "': expected at most ", kMostElements,
                            " elements");
    }
  }
  return elements;
}

// BYTES: every element is its length in four bytes, then the bytes.
void take_binary_bytes(serve::InputTensor& tensor, int64_t elements, std::string_view data) {
  while (!data.empty()) {
    if (std::ssize(tensor.elements) == elements) {
      throw InvalidArgument("input '", tensor.name, "': expected ", elements,
                            " elements as its shape says, got more");
    }
    uint32_t length = 0;
    if (data.size() < sizeof(length)) break;
    std::memcpy(&length, data.data(), sizeof(length));
    data.remove_prefix(sizeof(length));
    if (length > data.size())
      throw InvalidArgument("input '", tensor.name, "': an element is longer than its tensor");
    tensor.elements.push_back(data.substr(0, length));
    data.remove_prefix(length);
  }
  if (!data.empty()) {
    throw InvalidArgument("input '", tensor.name, "': expected a length of four bytes, got ",
                          data.size());
  }
}

bool looks_encoded(std::string_view bytes) {
  return bytes.starts_with("\xFF\xD8") || bytes.starts_with("\x89PNG");
}

// JSON has no bytes, so pictures come as base64 there.
void decode_strings(serve::InputTensor& tensor, InputMemory& memory) {
  std::vector<std::string>& decoded = memory.bytes.emplace_back();
  decoded.reserve(tensor.elements.size());  // views of the strings must stay valid
  for (std::string_view& element : tensor.elements) {
    std::string bytes;
    if (looks_encoded(element) || !wire::base64_decode(element, bytes)) continue;
    element = decoded.emplace_back(std::move(bytes));
  }
}

void finish_input(OipInput& input, std::string_view& binary, InputMemory& memory) {
  serve::InputTensor& tensor = input.tensor;
  const auto type = parse_oip_type(input.datatype);
  if (!type) {
    throw InvalidArgument("input '", tensor.name,
                          "': expected datatype FP32, FP16, BF16, UINT8, "
                          "INT32 or BYTES, got '",
                          input.datatype, "'");
  }
  if (tensor.shape.size() > 8)
    throw InvalidArgument("input '", tensor.name, "': expected at most 8 dimensions");
  tensor.type = *type;
  const int64_t elements = elements_of(tensor);
  int64_t found = 0;
  if (input.binary_bytes) {
    if (*input.binary_bytes > static_cast<int64_t>(binary.size()) || !input.data.empty()) {
      throw InvalidArgument("input '", tensor.name, "': expected ", *input.binary_bytes,
                            " binary bytes and no 'data', got ", binary.size(), " bytes");
    }
    const std::string_view own = binary.substr(0, static_cast<size_t>(*input.binary_bytes));
    binary.remove_prefix(own.size());
    if (*type == ElementType::bytes) {
      take_binary_bytes(tensor, elements, own);
      found = static_cast<int64_t>(tensor.elements.size());
    } else {
      tensor.data = std::as_bytes(std::span(own));
      const size_t size = size_of(*type);
      found = own.size() % size == 0 ? static_cast<int64_t>(own.size() / size) : -1;
    }
  } else {
    if (input.data.empty()) throw InvalidArgument("input '", tensor.name, "': expected 'data'");
    using Numbers = wire::TensorBuilder::Numbers;
    wire::TensorBuilder builder(*type == ElementType::i32 ? Numbers::i32 : Numbers::f32,
                                {.elements = elements});
    builder.expect({elements});  // most clients send flat lists
    Cursor cursor(input.data);
    builder.add(cursor);
    set_from_numbers(tensor, builder, memory);
    if (*type == ElementType::bytes) decode_strings(tensor, memory);
    found = 1;
    for (const int64_t extent : builder.shape()) found *= extent;
  }
  if (found != elements) {
    throw InvalidArgument("input '", tensor.name, "': expected ", elements,
                          " elements as its shape says, got ", found < 0 ? 0 : found);
  }
}

}  // namespace

std::string_view oip_type(ElementType type) {
  for (const OipTypeName& entry : kTypeNames) {
    if (entry.type == type) return entry.name;
  }
  return "";
}

std::optional<ElementType> parse_oip_type(std::string_view name) {
  for (const OipTypeName& entry : kTypeNames) {
    if (entry.name == name) return entry.type;
  }
  return std::nullopt;
}

OipBody parse_oip_body(std::string_view body, size_t json_bytes, InputMemory& memory) {
  OipBody result;
  std::vector<OipInput> inputs;
  Cursor cursor(body.substr(0, json_bytes));
  each_member(cursor, "request", [&](const std::string& key) {
    if (key == "id") {
      result.id = string_at(cursor, key);
    } else if (key == "parameters") {
      read_parameters(cursor, result);
    } else if (key == "inputs") {
      each_element(cursor, key, [&] {
        if (inputs.size() == kMostTensors) throw InvalidArgument("'inputs': too many");
        inputs.push_back(read_input(cursor));
      });
    } else if (key == "outputs") {
      each_element(cursor, key, [&] {
        if (result.outputs.size() == kMostTensors) throw InvalidArgument("'outputs': too many");
        result.outputs.push_back(read_output(cursor));
      });
    } else {
      cursor.skip();
    }
  });
  cursor.end();
  if (inputs.empty())
    throw InvalidArgument("'inputs': expected a list with a tensor for each input");
  std::string_view binary = body.substr(json_bytes);
  for (OipInput& input : inputs) {
    finish_input(input, binary, memory);
    result.inputs.push_back(std::move(input.tensor));
  }
  if (!binary.empty()) {
    throw InvalidArgument("expected no bytes after the tensors, got ", binary.size());
  }
  return result;
}

}  // namespace pando::rest
