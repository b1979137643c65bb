// Reads the protocol buffers of ONNX. Lists of numbers may be packed or not. Graphs inside of nodes
// (control flow) are not read, so messages do not nest without end.
// SPDX-License-Identifier: MIT
#include <bit>
#include <cstring>
#include <filesystem>
#include <optional>

#include "pando/base/error.h"
#include "pando/base/little_endian.h"
#include "pando/base/paths.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/tfrecord/wire.h"
#include "pando/onnx/proto.h"

namespace pando::onnx {
namespace {

using data::WireField;
using data::WireReader;
using data::WireType;
using SharedBytes = std::shared_ptr<const std::vector<uint8_t>>;

constexpr int64_t kMostRank = 64;
constexpr size_t kLongestName = 4096;

// What all messages of a file share.
struct Source {
  SharedBytes bytes;
  std::string place;
  std::string folder;                              // of external data
  std::map<std::string, SharedBytes> others = {};  // external files that were read
};

std::string text_of(const WireReader& reader, const WireField& field) {
  if (field.type != WireType::bytes) reader.fail(field, "expected a text");
  return {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
}

// Names are used in messages and in maps.
std::string name_of(const WireReader& reader, const WireField& field) {
  if (field.bytes.size() > kLongestName) {
    reader.fail(field, concat("expected a name of up to ", kLongestName, " bytes"));
  }
  return text_of(reader, field);
}

int64_t int_of(const WireReader& reader, const WireField& field) {
  if (field.type != WireType::varint) reader.fail(field, "expected a whole number");
  return static_cast<int64_t>(field.value);
}

float float_of(const WireReader& reader, const WireField& field) {
  if (field.type != WireType::fixed32) reader.fail(field, "expected a number of 32 bits");
  return std::bit_cast<float>(static_cast<uint32_t>(field.value));
}

void append_ints(const WireReader& reader, const WireField& field, std::vector<int64_t>& to) {
  if (field.type == WireType::varint) return to.push_back(static_cast<int64_t>(field.value));
  WireReader list = reader.inside(field);
  while (!list.at_end()) to.push_back(static_cast<int64_t>(list.varint()));
}

void append_floats(const WireReader& reader, const WireField& field, std::vector<float>& to) {
  if (field.type == WireType::fixed32) return to.push_back(float_of(reader, field));
  WireReader list = reader.inside(field);
  while (!list.at_end()) to.push_back(std::bit_cast<float>(list.fixed32()));
}

std::pair<std::string, std::string> entry_of(WireReader reader) {
  std::pair<std::string, std::string> entry;
  while (const auto field = reader.next()) {
    if (field->number == 1) entry.first = text_of(reader, *field);
    if (field->number == 2) entry.second = text_of(reader, *field);
  }
  return entry;
}

// The elements of a tensor while it is read: in one of these forms.
struct Elements {
  std::optional<std::span<const uint8_t>> raw;
  std::vector<uint8_t> reals;     // packed floats or doubles as they are in the message
  std::vector<int64_t> integers;  // of int32_data, int64_data or uint64_data
  bool has_texts = false;
  std::map<std::string, std::string> external;
};

void append_reals(const WireReader& reader, const WireField& field, std::vector<uint8_t>& to) {
  if (field.type == WireType::bytes) {
    to.insert(to.end(), field.bytes.begin(), field.bytes.end());
    return;
  }
  if (field.type == WireType::varint) reader.fail(field, "expected floating-point numbers");
  append_little(to, field.value, field.type == WireType::fixed32 ? 4 : 8);
}

// int32_data holds all types of up to 32 bits, and the bits of 16-bit floating-point numbers.
std::vector<uint8_t> narrowed(const std::vector<int64_t>& integers, size_t width) {
  std::vector<uint8_t> bytes(integers.size() * width);
  for (size_t i = 0; i < integers.size(); ++i) {
    for (size_t k = 0; k < width; ++k) {
      bytes[i * width + k] = static_cast<uint8_t>(static_cast<uint64_t>(integers[i]) >> (8 * k));
    }
  }
  return bytes;
}

uint64_t whole_number(const Source& source, const Elements& elements, const std::string& key) {
  const auto found = elements.external.find(key);
  if (found == elements.external.end()) return 0;
  const std::optional<int64_t> value = parse_int(found->second);
  if (value && *value >= 0) return static_cast<uint64_t>(*value);
  throw IoError(source.place, ": external data: ", key, ": expected a whole number, got '",
                found->second, "'");
}

// Only files beside the model: a name or a symbolic link that leaves its folder could read
// anything.
SharedBytes external_file(Source& source, const std::string& name) {
  if (!lies_inside(source.folder, name)) {
    throw IoError(source.place, ": external data: expected a file beside the model, got '",
                  name.substr(0, 200), "', which is or leads elsewhere; copy it to the model");
  }
  SharedBytes& file = source.others[name];
  if (!file) {
    file = std::make_shared<const std::vector<uint8_t>>(
        data::read_file((std::filesystem::path(source.folder) / name).string()));
  }
  return file;
}

void take_external(Source& source, const Elements& elements, TensorProto& tensor) {
  const auto location = elements.external.find("location");
  if (location == elements.external.end()) {
    throw IoError(source.place, ": tensor '", tensor.name, "': external data without a location");
  }
  tensor.owner = external_file(source, location->second);
  const uint64_t offset = whole_number(source, elements, "offset");
  const uint64_t all = tensor.owner->size();
  const uint64_t given = whole_number(source, elements, "length");
  const uint64_t length = given == 0 && offset <= all ? all - offset : given;
  if (offset > all || length > all - offset) {
    throw IoError(source.place, ": tensor '", tensor.name, "': expected ", length,
                  " bytes at byte ", offset, " of ", location->second, ", which has ", all);
  }
  tensor.bytes = std::span(*tensor.owner).subspan(offset, length);
}

void take_elements(Source& source, Elements elements, TensorProto& tensor) {
  if (!elements.external.empty()) return take_external(source, elements, tensor);
  if (elements.raw) {
    tensor.bytes = *elements.raw;
    tensor.owner = source.bytes;
    return;
  }
  std::vector<uint8_t> own = std::move(elements.reals);
  if (!elements.integers.empty()) own = narrowed(elements.integers, bytes_of(tensor.type));
  tensor.owner = std::make_shared<const std::vector<uint8_t>>(std::move(own));
  tensor.bytes = *tensor.owner;
}

// Throws unless the elements fill the shape. Texts and unknown types are checked by those who use
// them.
void check_size(const Source& source, const TensorProto& tensor) {
  const size_t width = bytes_of(tensor.type);
  uint64_t expected = width;
  bool fits = std::ssize(tensor.dims) <= kMostRank;
  for (const int64_t extent : tensor.dims) {
    fits = fits && extent >= 0;
    if (!fits) break;
    fits = !__builtin_mul_overflow(expected, static_cast<uint64_t>(extent), &expected);
  }
  if (width == 0) return;
  if (fits && expected == tensor.bytes.size()) return;
  throw IoError(source.place, ": tensor '", tensor.name, "': ", tensor.bytes.size(),
                " bytes of elements do not fill its shape of ", tensor.dims.size(), " axes and ",
                to_string(tensor.type));
}

TensorProto tensor_of(WireReader reader, Source& source) {
  TensorProto tensor;
  Elements elements;
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: append_ints(reader, *field, tensor.dims); break;
      case 2: tensor.type = static_cast<ElementType>(int_of(reader, *field)); break;
      case 4:
      case 10: append_reals(reader, *field, elements.reals); break;
      case 5:
      case 7:
      case 11: append_ints(reader, *field, elements.integers); break;
      case 6: elements.has_texts = true; break;
      case 8: tensor.name = name_of(reader, *field); break;
      case 9: elements.raw = field->bytes; break;
      case 13: elements.external.insert(entry_of(reader.inside(*field))); break;
      default: break;
    }
  }
  take_elements(source, std::move(elements), tensor);
  check_size(source, tensor);
  return tensor;
}

AttributeProto attribute_of(WireReader reader, Source& source) {
  using Kind = AttributeProto::Kind;
  AttributeProto attribute;
  int64_t type = 0;
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: attribute.name = name_of(reader, *field); break;
      case 2: attribute.f = float_of(reader, *field), attribute.kind = Kind::real; break;
      case 3: attribute.i = int_of(reader, *field), attribute.kind = Kind::integer; break;
      case 4: attribute.s = text_of(reader, *field), attribute.kind = Kind::text; break;
      case 5:
        attribute.t = tensor_of(reader.inside(*field), source), attribute.kind = Kind::tensor;
        break;
      case 6:
      case 11: attribute.kind = Kind::graph; break;
      case 7: append_floats(reader, *field, attribute.floats), attribute.kind = Kind::reals; break;
      case 8: append_ints(reader, *field, attribute.ints), attribute.kind = Kind::integers; break;
      case 9:
        attribute.strings.push_back(text_of(reader, *field)), attribute.kind = Kind::texts;
        break;
      case 20: type = int_of(reader, *field); break;
      default: break;
    }
  }
  // Writers leave out zeros and empty lists; the type tells what they are.
  if (attribute.kind == Kind::none) {
    switch (type) {
      case 1: attribute.kind = Kind::real; break;
      case 2: attribute.kind = Kind::integer; break;
      case 3: attribute.kind = Kind::text; break;
      case 6: attribute.kind = Kind::reals; break;
      case 7: attribute.kind = Kind::integers; break;
      case 8: attribute.kind = Kind::texts; break;
      default: attribute.kind = Kind::other; break;
    }
  }
  return attribute;
}

NodeProto node_of(WireReader reader, Source& source) {
  NodeProto node;
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: node.inputs.push_back(name_of(reader, *field)); break;
      case 2: node.outputs.push_back(name_of(reader, *field)); break;
      case 3: node.name = name_of(reader, *field); break;
      case 4: node.op_type = name_of(reader, *field); break;
      case 5: node.attributes.push_back(attribute_of(reader.inside(*field), source)); break;
      case 7: node.domain = name_of(reader, *field); break;
      default: break;
    }
  }
  if (node.domain == "ai.onnx") node.domain.clear();
  return node;
}

Dimension dimension_of(WireReader reader) {
  Dimension dimension;
  while (const auto field = reader.next()) {
    if (field->number == 1) dimension.value = int_of(reader, *field);
    if (field->number == 2) dimension.name = name_of(reader, *field);
  }
  return dimension;
}

void read_tensor_type(WireReader reader, ValueInfoProto& value) {
  value.is_tensor = true;
  while (const auto field = reader.next()) {
    if (field->number == 1) value.type = static_cast<ElementType>(int_of(reader, *field));
    if (field->number != 2) continue;
    value.has_shape = true;
    WireReader shape = reader.inside(*field);
    while (const auto extent = shape.next()) {
      if (extent->number == 1) value.shape.push_back(dimension_of(shape.inside(*extent)));
    }
  }
}

ValueInfoProto value_of(WireReader reader) {
  ValueInfoProto value;
  while (const auto field = reader.next()) {
    if (field->number == 1) value.name = name_of(reader, *field);
    if (field->number != 2) continue;
    WireReader type = reader.inside(*field);
    while (const auto kind = type.next()) {
      if (kind->number == 1) read_tensor_type(type.inside(*kind), value);
    }
  }
  return value;
}

GraphProto graph_of(WireReader reader, Source& source) {
  GraphProto graph;
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: graph.nodes.push_back(node_of(reader.inside(*field), source)); break;
      case 2: graph.name = name_of(reader, *field); break;
      case 5: graph.initializers.push_back(tensor_of(reader.inside(*field), source)); break;
      case 11: graph.inputs.push_back(value_of(reader.inside(*field))); break;
      case 12: graph.outputs.push_back(value_of(reader.inside(*field))); break;
      case 13: graph.values.push_back(value_of(reader.inside(*field))); break;
      case 15: graph.has_sparse_initializers = true; break;
      default: break;
    }
  }
  return graph;
}

void add_opset(WireReader reader, std::map<std::string, int64_t>& opsets) {
  std::string domain;
  int64_t version = 0;
  while (const auto field = reader.next()) {
    if (field->number == 1) domain = name_of(reader, *field);
    if (field->number == 2) version = int_of(reader, *field);
  }
  opsets[domain == "ai.onnx" ? "" : domain] = version;
}

std::string function_name(WireReader reader) {
  std::string name;
  while (const auto field = reader.next()) {
    if (field->number == 1) name = name_of(reader, *field);
  }
  return name;
}

}  // namespace

ModelProto parse_model(std::shared_ptr<const std::vector<uint8_t>> bytes, const std::string& place,
                       const std::string& folder) {
  Source source{.bytes = std::move(bytes), .place = place, .folder = folder};
  ModelProto model;
  bool has_graph = false;
  WireReader reader(*source.bytes, place);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: model.ir_version = int_of(reader, *field); break;
      case 2: model.producer = name_of(reader, *field); break;
      case 3: model.producer_version = name_of(reader, *field); break;
      case 7:
        if (has_graph) reader.fail(*field, "a second graph");
        model.graph = graph_of(reader.inside(*field), source);
        has_graph = true;
        break;
      case 8: add_opset(reader.inside(*field), model.opsets); break;
      case 14: model.metadata.insert(entry_of(reader.inside(*field))); break;
      case 25: model.functions.push_back(function_name(reader.inside(*field))); break;
      default: break;
    }
  }
  if (!has_graph) throw IoError(place, ": expected an ONNX model, found no graph in it");
  return model;
}

ModelProto read_model(const std::string& path) {
  auto bytes = std::make_shared<const std::vector<uint8_t>>(data::read_file(path));
  return parse_model(std::move(bytes), path, std::filesystem::path(path).parent_path().string());
}

TensorProto parse_tensor(std::shared_ptr<const std::vector<uint8_t>> bytes,
                         const std::string& place) {
  Source source{.bytes = std::move(bytes), .place = place, .folder = {}};
  return tensor_of(WireReader(*source.bytes, place), source);
}

}  // namespace pando::onnx
