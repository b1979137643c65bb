// Object headers: the messages that describe a group, a dataset or a named datatype.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "pando/store/hdf5/bytes.h"

namespace pando::store::hdf5 {

// The messages that we read; others are left out.
enum class MessageKind : uint16_t {
  dataspace = 0x01,
  link_info = 0x02,
  datatype = 0x03,
  fill_value = 0x05,
  link = 0x06,
  external_files = 0x07,
  layout = 0x08,
  filters = 0x0b,
  attribute = 0x0c,
  continuation = 0x10,
  symbol_table = 0x11,
  attribute_info = 0x15,
};

struct Message {
  MessageKind kind;
  bool shared = false;  // the body says where the message is
  Bytes body;
};

using ObjectHeader = std::vector<Message>;

// Reads versions 1 and 2 with all continuations.
ObjectHeader read_object_header(FileBytes& file, uint64_t address);

// The first message of that kind, or nullptr.
const Message* find_message(const ObjectHeader& header, MessageKind kind);

// The body of a message that is stored in another object's header, which is how named datatypes
// are used. `body` is the reference. Throws IoError for other kinds of sharing.
Bytes read_shared(FileBytes& file, ByteSpan body, MessageKind kind);
// The body of the message itself or of the one it refers to.
Bytes body_of(FileBytes& file, const Message& message);

}  // namespace pando::store::hdf5
