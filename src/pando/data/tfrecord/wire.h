// The wire format of protocol buffers, read with a check of every length, and written: as much of
// it as tf.train.Example needs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pando::data {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string_view to_string(WireType type);

// One field of a message.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t value = 0;              // of a varint, fixed32 or fixed64
  std::span<const uint8_t> bytes;  // of the type bytes
  size_t offset = 0;               // of its tag, in the outermost message
};

// Reads the fields of one message in order. A view. Errors are IoErrors that name the place and the
// byte. Groups, which proto3 does not have, are errors.
class WireReader {
 public:
  WireReader(std::span<const uint8_t> message, std::string_view place, size_t offset = 0)
      : message_(message), place_(place), offset_(offset) {}

  // The next field, or nothing at the end.
  std::optional<WireField> next();
  // A number in a packed list. Requires: !at_end().
  uint64_t varint();
  uint32_t fixed32() { return static_cast<uint32_t>(fixed(4)); }
  bool at_end() const { return used_ == message_.size(); }

  // A reader of the message that `field` holds.
  WireReader inside(const WireField& field) const;
  // Throws an IoError about `field`.
  [[noreturn]] void fail(const WireField& field, const std::string& why) const;

 private:
  uint64_t fixed(size_t count);
  std::span<const uint8_t> take(size_t at, uint64_t count);
  [[noreturn]] void fail_at(size_t at, const std::string& why) const;

  std::span<const uint8_t> message_;
  std::string_view place_;
  size_t offset_;  // of message_ in the outermost message
  size_t used_ = 0;
};

void append_varint(std::vector<uint8_t>& to, uint64_t value);
// The tag and the length in front of a field of the type bytes.
void append_bytes_header(std::vector<uint8_t>& to, uint32_t number, size_t length);

// Append whole fields.
void append_int(std::vector<uint8_t>& to, uint32_t number, uint64_t value);
void append_float(std::vector<uint8_t>& to, uint32_t number, float value);
void append_double(std::vector<uint8_t>& to, uint32_t number, double value);
void append_message(std::vector<uint8_t>& to, uint32_t number, std::span<const uint8_t> message);
void append_text(std::vector<uint8_t>& to, uint32_t number, std::string_view text);
// Append packed lists.
void append_floats(std::vector<uint8_t>& to, uint32_t number, std::span<const float> values);
void append_doubles(std::vector<uint8_t>& to, uint32_t number, std::span<const double> values);

}  // namespace pando::data
