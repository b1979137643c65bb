// SPDX-License-Identifier: MIT
#include "pando/data/tfrecord/wire.h"

#include <bit>
#include <limits>

#include "pando/base/error.h"
#include "pando/base/little_endian.h"

namespace pando::data {

std::string_view to_string(WireType type) {
  switch (type) {
    case WireType::varint: return "varint";
    case WireType::fixed64: return "fixed64";
    case WireType::bytes: return "bytes";
    case WireType::fixed32: return "fixed32";
  }
  return "?";
}

std::optional<WireField> WireReader::next() {
  if (at_end()) return std::nullopt;
  const size_t start = used_;
  const uint64_t tag = varint();
  WireField field{.offset = offset_ + start};
  if (tag > std::numeric_limits<uint32_t>::max() || tag >> 3 == 0) {
    fail_at(start,
            concat("field tag is ", tag, ", expected a field number of at least 1 and a type"));
  }
  field.number = static_cast<uint32_t>(tag >> 3);
  const auto type = static_cast<int>(tag & 7);
  if (type == 3 || type == 4 || type > 5) {
    fail_at(start,
            concat("field ", field.number, " has wire type ", type, ", expected 0, 1, 2 or 5"));
  }
  field.type = static_cast<WireType>(type);
  switch (field.type) {
    case WireType::varint: field.value = varint(); break;
    case WireType::fixed64: field.value = fixed(8); break;
    case WireType::fixed32: field.value = fixed(4); break;
    case WireType::bytes: {
      const size_t at = used_;
      field.bytes = take(at, varint());
      break;
    }
  }
  return field;
}

uint64_t WireReader::varint() {
  const size_t start = used_;
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_end()) fail_at(start, "the message ends inside a number");
    const uint8_t byte = message_[used_++];
    if (shift == 63 && byte > 1) break;
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  fail_at(start, "a number is longer than 64 bits");
}

uint64_t WireReader::fixed(size_t count) { return load_little(take(used_, count)); }

std::span<const uint8_t> WireReader::take(size_t at, uint64_t count) {
  const size_t left = message_.size() - used_;
  if (count > left) {
    fail_at(at, concat("expected ", count, " bytes of a field, got ", left));
  }
  const auto taken = message_.subspan(used_, static_cast<size_t>(count));
  used_ += taken.size();
  return taken;
}

WireReader WireReader::inside(const WireField& field) const {
  if (field.type != WireType::bytes) {
    fail(field, concat("field ", field.number, " is a ", to_string(field.type),
                       ", expected bytes with a message"));
  }
  const auto behind = static_cast<size_t>(field.bytes.data() - message_.data());
  return {field.bytes, place_, offset_ + behind};
}

void WireReader::fail(const WireField& field, const std::string& why) const {
  throw IoError(place_, ": byte ", field.offset, ": ", why);
}

void WireReader::fail_at(size_t at, const std::string& why) const {
  throw IoError(place_, ": byte ", offset_ + at, ": ", why);
}

void append_varint(std::vector<uint8_t>& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<uint8_t>(value | 0x80));
  to.push_back(static_cast<uint8_t>(value));
}

namespace {

void append_tag(std::vector<uint8_t>& to, uint32_t number, WireType type) {
  append_varint(to, uint64_t{number} << 3 | static_cast<uint64_t>(type));
}

template <typename Bits>
void append_fixed(std::vector<uint8_t>& to, Bits bits) {
  append_little(to, bits, sizeof bits);
}

}  // namespace

void append_bytes_header(std::vector<uint8_t>& to, uint32_t number, size_t length) {
  append_tag(to, number, WireType::bytes);
  append_varint(to, length);
}

void append_int(std::vector<uint8_t>& to, uint32_t number, uint64_t value) {
  append_tag(to, number, WireType::varint);
  append_varint(to, value);
}

void append_float(std::vector<uint8_t>& to, uint32_t number, float value) {
  append_tag(to, number, WireType::fixed32);
  append_fixed(to, std::bit_cast<uint32_t>(value));
}

void append_double(std::vector<uint8_t>& to, uint32_t number, double value) {
  append_tag(to, number, WireType::fixed64);
  append_fixed(to, std::bit_cast<uint64_t>(value));
}

void append_message(std::vector<uint8_t>& to, uint32_t number, std::span<const uint8_t> message) {
  append_bytes_header(to, number, message.size());
  to.insert(to.end(), message.begin(), message.end());
}

void append_text(std::vector<uint8_t>& to, uint32_t number, std::string_view text) {
  append_bytes_header(to, number, text.size());
  to.insert(to.end(), text.begin(), text.end());
}

void append_floats(std::vector<uint8_t>& to, uint32_t number, std::span<const float> values) {
  append_bytes_header(to, number, sizeof(float) * values.size());
  for (const float value : values) append_fixed(to, std::bit_cast<uint32_t>(value));
}

void append_doubles(std::vector<uint8_t>& to, uint32_t number, std::span<const double> values) {
  append_bytes_header(to, number, sizeof(double) * values.size());
  for (const double value : values) append_fixed(to, std::bit_cast<uint64_t>(value));
}

}  // namespace pando::data
