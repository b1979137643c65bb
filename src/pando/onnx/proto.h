// An ONNX file as it is stored: a graph of nodes with attributes, and tensors. The names are those
// of ONNX's protocol buffers. This file does not know what an op means.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pando::onnx {

// The numbers are those of TensorProto.DataType.
enum class ElementType : int32_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  text = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  bf16 = 16,
};

// "float16", as ONNX writes it; "type 23" if it is not one of the above.
std::string to_string(ElementType type);
// 0 for texts and unknown types.
size_t bytes_of(ElementType type);
bool is_floating(ElementType type);

// A tensor. The elements are little-endian and lie in the file, in a list of the message or in
// another file; `bytes` has them in any case.
struct TensorProto {
  std::string name;
  ElementType type = ElementType::undefined;
  std::vector<int64_t> dims;
  std::span<const uint8_t> bytes;
  // Keeps `bytes` alive.
  std::shared_ptr<const std::vector<uint8_t>> owner;

  int64_t elements() const;
  // The elements converted. Throw InvalidArgument for texts and unknown types; ints() also for
  // floating-point types.
  std::vector<float> floats() const;
  std::vector<int64_t> ints() const;
};

struct AttributeProto {
  enum class Kind { none, real, integer, text, tensor, graph, reals, integers, texts, other };
  std::string name;
  Kind kind = Kind::none;
  float f = 0;
  int64_t i = 0;
  std::string s;
  TensorProto t;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
};

struct NodeProto {
  std::string op_type;
  std::string domain;  // "" or "ai.onnx": ONNX's own ops
  std::string name;
  std::vector<std::string> inputs;  // "": an optional input that is not there
  std::vector<std::string> outputs;
  std::vector<AttributeProto> attributes;

  const AttributeProto* find(const std::string& attribute) const;  // null: not there
};

// One extent of a shape: a number, or a name if it is free.
struct Dimension {
  int64_t value = -1;  // -1: free
  std::string name;

  bool is_free() const { return value < 0; }
};

struct ValueInfoProto {
  std::string name;
  ElementType type = ElementType::undefined;
  bool is_tensor = false;
  bool has_shape = false;
  std::vector<Dimension> shape;
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueInfoProto> inputs;
  std::vector<ValueInfoProto> outputs;
  std::vector<ValueInfoProto> values;
  bool has_sparse_initializers = false;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string producer;
  std::string producer_version;
  std::map<std::string, int64_t> opsets;  // by domain; "" is ONNX's own
  std::map<std::string, std::string> metadata;
  GraphProto graph;
  std::vector<std::string> functions;  // ops that the file defines itself
};

// Reads a file, and the files of external data beside it. Throws IoError with the place and the
// byte for a damaged file, InvalidArgument for a tensor whose size and elements differ.
ModelProto read_model(const std::string& path);
// The same from memory. External data are looked for in `folder`.
ModelProto parse_model(std::shared_ptr<const std::vector<uint8_t>> bytes, const std::string& place,
                       const std::string& folder);
// A file with one tensor (test data of ONNX have them).
TensorProto parse_tensor(std::shared_ptr<const std::vector<uint8_t>> bytes,
                         const std::string& place);

std::vector<uint8_t> to_bytes(const ModelProto& model);

}  // namespace pando::onnx
