// SPDX-License-Identifier: MIT
#include "pando/store/hdf5/attributes.h"

#include <algorithm>

#include "pando/store/hdf5/heaps.h"
#include "pando/store/hdf5/trees.h"

namespace pando::store::hdf5 {

namespace {

constexpr std::string_view kAttribute = "attribute";
constexpr uint8_t kSharedType = 1 << 0;
constexpr uint8_t kSharedSpace = 1 << 1;

// An attribute message cut into its fields.
struct AttributeFields {
  uint8_t flags = 0;
  std::string name;
  ByteSpan type;
  ByteSpan space;
  ByteSpan elements;  // and perhaps padding
};

AttributeFields cut_attribute(const FileBytes& file, ByteSpan message) {
  Cursor cursor = file.cursor(message, kAttribute);
  const int version = cursor.u8();
  if (version < 1 || version > 3) throw IoError(kAttribute, ": unknown version ", version);
  AttributeFields fields{.flags = cursor.u8()};
  if (version == 1) fields.flags = 0;
  const uint64_t name_bytes = cursor.u16();
  const uint64_t type_bytes = cursor.u16();
  const uint64_t space_bytes = cursor.u16();
  if (version == 3) cursor.skip(1);  // encoding of the name
  // Version 1 fills every field up to 8 bytes.
  const auto field = [&](uint64_t bytes) {
    const ByteSpan taken = cursor.bytes(bytes);
    if (version == 1) cursor.skip((8 - bytes % 8) % 8);
    return taken;
  };
  const ByteSpan name = field(name_bytes);
  fields.name.assign(name.begin(), std::find(name.begin(), name.end(), 0));
  fields.type = field(type_bytes);
  fields.space = field(space_bytes);
  fields.elements = cursor.rest();
  return fields;
}

Bytes field_body(FileBytes& file, ByteSpan body, bool shared, MessageKind kind) {
  return shared ? read_shared(file, body, kind) : Bytes(body.begin(), body.end());
}

}  // namespace

std::map<std::string, Bytes> read_attributes(FileBytes& file, const ObjectHeader& header) {
  std::map<std::string, Bytes> attributes;
  const auto keep = [&](Bytes message) {
    std::string name = cut_attribute(file, message).name;
    attributes.try_emplace(std::move(name), std::move(message));
  };
  for (const Message& message : header) {
    if (message.kind == MessageKind::attribute) keep(body_of(file, message));
    if (message.kind != MessageKind::attribute_info) continue;
    Cursor cursor = file.cursor(message.body, "attribute info");
    cursor.skip(1);
    if ((cursor.u8() & 1) != 0) cursor.skip(2);  // next order of creation
    const uint64_t heap_address = cursor.address();
    const uint64_t tree = cursor.address();
    if (heap_address == kNowhere) continue;
    FractalHeap heap(file, heap_address);
    visit_new_tree(file, tree, NewTree::attribute_names, [&](ByteSpan record) {
      Cursor fields = file.cursor(record, "attribute record");
      const Bytes object = heap.object(fields.bytes(heap.id_bytes()));
      const bool shared = (fields.u8() & 1 << 1) != 0;
      keep(shared ? read_shared(file, object, MessageKind::attribute) : object);
    });
  }
  return attributes;
}

Attribute parse_attribute(FileBytes& file, ByteSpan message) {
  const AttributeFields fields = cut_attribute(file, message);
  const bool shared_type = (fields.flags & kSharedType) != 0;
  const bool shared_space = (fields.flags & kSharedSpace) != 0;
  Attribute attribute;
  attribute.type =
      parse_datatype(file, field_body(file, fields.type, shared_type, MessageKind::datatype));
  attribute.space =
      parse_dataspace(file, field_body(file, fields.space, shared_space, MessageKind::dataspace));
  // At most 2^48 elements of less than 2^32 bytes: compare by division.
  const uint64_t elements = attribute.space.elements();
  if (elements > fields.elements.size() / attribute.type.bytes) {
    throw IoError(kAttribute, ": expected ", elements, " elements of ", attribute.type.bytes,
                  " bytes, got ", fields.elements.size(), " bytes; the file is damaged");
  }
  const ByteSpan raw = fields.elements.first(elements * attribute.type.bytes);
  attribute.raw.assign(raw.begin(), raw.end());
  return attribute;
}

}  // namespace pando::store::hdf5
