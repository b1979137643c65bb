// SPDX-License-Identifier: MIT
#include "pando/store/hdf5/object_header.h"

#include <algorithm>

namespace pando::store::hdf5 {

namespace {

constexpr std::string_view kHeader = "object header";
constexpr uint8_t kSharedFlag = 1 << 1;
constexpr uint8_t kMustUnderstandFlag = 1 << 7;

bool is_known(uint16_t kind) {
  switch (static_cast<MessageKind>(kind)) {
    case MessageKind::dataspace:
    case MessageKind::link_info:
    case MessageKind::datatype:
    case MessageKind::fill_value:
    case MessageKind::link:
    case MessageKind::external_files:
    case MessageKind::layout:
    case MessageKind::filters:
    case MessageKind::attribute:
    case MessageKind::continuation:
    case MessageKind::symbol_table:
    case MessageKind::attribute_info: return true;
  }
  return false;
}

// A part of a header that another part refers to.
struct Continuation {
  uint64_t address;
  uint64_t bytes;
};

// Collects the messages of all parts of one header.
class HeaderReader {
 public:
  explicit HeaderReader(FileBytes& file) : file_(file) {}

  ObjectHeader read(uint64_t address) {
    const Bytes start = file_.read(address, 6);
    if (start[0] == 1) {
      read_version_1(address);
    } else {
      read_version_2(address, start[4], start[5]);
    }
    return std::move(messages_);
  }

 private:
  void read_version_1(uint64_t address) {
    const Bytes prefix = file_.read(address, 16);
    Cursor cursor = file_.cursor(ByteSpan(prefix).subspan(8), kHeader);
    const uint32_t bytes = cursor.u32();
    parse_version_1(file_.read(address + prefix.size(), bytes));
    for (size_t i = 0; i < parts_.size(); ++i) {  // a part may add further parts
      parse_version_1(file_.read(parts_[i].address, parts_[i].bytes));
    }
  }
  void read_version_2(uint64_t address, int version, uint8_t flags) {
    const uint64_t times = (flags & 1 << 5) != 0 ? 16 : 0;
    const uint64_t limits = (flags & 1 << 4) != 0 ? 4 : 0;
    const uint64_t width = uint64_t{1} << (flags & 3);
    const uint64_t front = 6 + times + limits + width;
    const Bytes prefix = file_.read_block(address, front, "OHDR", false);
    if (version != 2) throw IoError(kHeader, ": expected version 1 or 2, got ", version);
    Cursor cursor = file_.cursor(ByteSpan(prefix).last(width), kHeader);
    const uint64_t bytes = cursor.number(width);
    file_.check_inside(address, bytes);  // so that the sum below does not overflow
    const bool ordered = (flags & 1 << 2) != 0;
    parse_version_2(file_.read_block(address, front + bytes + 4, "OHDR", true), front, ordered);
    for (size_t i = 0; i < parts_.size(); ++i) {  // a part may add further parts
      const Continuation part = parts_[i];
      parse_version_2(file_.read_block(part.address, part.bytes, "OCHK", true), 4, ordered);
    }
  }
  void parse_version_1(const Bytes& part) {
    Cursor cursor = file_.cursor(part, kHeader);
    while (cursor.left() >= 8) {
      const uint16_t kind = cursor.u16();
      const uint16_t bytes = cursor.u16();
      const uint8_t flags = cursor.u8();
      cursor.skip(3);
      keep(kind, flags, cursor.bytes(bytes));
    }
  }
  void parse_version_2(const Bytes& part, uint64_t front, bool ordered) {
    const size_t message_front = ordered ? 6 : 4;
    if (part.size() < front + 4) throw IoError(kHeader, " is too short; the file is damaged");
    Cursor cursor = file_.cursor(ByteSpan(part).first(part.size() - 4).subspan(front), kHeader);
    while (cursor.left() >= message_front) {
      const uint16_t kind = cursor.u8();
      const uint16_t bytes = cursor.u16();
      const uint8_t flags = cursor.u8();
      if (ordered) cursor.skip(2);
      keep(kind, flags, cursor.bytes(bytes));
    }
  }
  void keep(uint16_t kind, uint8_t flags, ByteSpan body) {
    if (!is_known(kind)) {
      if ((flags & kMustUnderstandFlag) == 0) return;
      throw IoError(kHeader, ": a message of kind ", kind, " is not supported");
    }
    if (static_cast<MessageKind>(kind) == MessageKind::continuation) {
      Cursor cursor = file_.cursor(body, kHeader);
      const uint64_t address = cursor.address();
      parts_.push_back({address, cursor.length()});
      return;
    }
    messages_.push_back({.kind = static_cast<MessageKind>(kind),
                         .shared = (flags & kSharedFlag) != 0,
                         .body = Bytes(body.begin(), body.end())});
  }
  FileBytes& file_;
  ObjectHeader messages_;
  std::vector<Continuation> parts_;
};

}  // namespace

ObjectHeader read_object_header(FileBytes& file, uint64_t address) {
  return HeaderReader(file).read(address);
}

const Message* find_message(const ObjectHeader& header, MessageKind kind) {
  const auto found = std::ranges::find(header, kind, &Message::kind);
  return found == header.end() ? nullptr : &*found;
}

Bytes read_shared(FileBytes& file, ByteSpan body, MessageKind kind) {
  Cursor cursor = file.cursor(body, "shared message");
  const uint8_t version = cursor.u8();
  const uint8_t place = cursor.u8();
  if (version == 1) cursor.skip(6);
  const bool in_object = version == 3 ? place == 2 : version == 1 || version == 2;
  if (!in_object) throw IoError("messages shared in a table of the file are not supported");
  const ObjectHeader header = read_object_header(file, cursor.address());
  const Message* message = find_message(header, kind);
  if (message == nullptr || message->shared) {
    throw IoError("a shared message refers to nothing; the file is damaged");
  }
  return message->body;
}

Bytes body_of(FileBytes& file, const Message& message) {
  return message.shared ? read_shared(file, message.body, message.kind) : message.body;
}

}  // namespace pando::store::hdf5
