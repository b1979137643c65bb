// SPDX-License-Identifier: MIT
#include "pando/data/sources/idx.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "pando/base/memory_limit.h"
#include "pando/data/sources/gzip.h"

namespace pando {

namespace {

using data::PlainReader;

constexpr size_t kMostAxes = 8;
constexpr uint64_t kMostBytes = uint64_t{1} << 46;
constexpr size_t kFirstChunk = size_t{1} << 20;

struct Header {
  uint8_t type = 0;
  Shape shape;
  uint64_t payload_bytes = 0;
};

size_t size_of_type(uint8_t type, const std::string& place) {
  switch (type) {
    case 0x08:
    case 0x09: return 1;
    case 0x0b: return 2;
    case 0x0c:
    case 0x0d: return 4;
    case 0x0e: return 8;
    default:
      throw IoError(place, ": IDX type byte is ", static_cast<int>(type),
                    ", expected 8 (u8), 9 (i8), 11 (i16), 12 (i32), 13 (f32) or 14 (f64)");
  }
}

uint32_t read_big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

void read_exactly(PlainReader& reader, std::span<uint8_t> to, const std::string& place) {
  const size_t found = reader.read(to);
  if (found != to.size()) {
    throw IoError(place, ": truncated in the IDX header: expected ", to.size(), " more bytes, got ",
                  found);
  }
}

Header read_header(PlainReader& reader, const std::string& place) {
  std::array<uint8_t, 4> magic{};
  read_exactly(reader, magic, place);
  if (magic[0] != 0 || magic[1] != 0) {
    throw IoError(place, ": not an IDX file: expected it to begin with two zero bytes, got ",
                  static_cast<int>(magic[0]), " and ", static_cast<int>(magic[1]));
  }
  Header header{.type = magic[2], .payload_bytes = size_of_type(magic[2], place)};
  if (magic[3] == 0 || magic[3] > kMostAxes) {
    throw IoError(place, ": IDX file has ", static_cast<int>(magic[3]), " axes, expected 1 to ",
                  kMostAxes);
  }
  std::vector<int64_t> dims;
  bool too_large = false;
  for (int axis = 0; axis < magic[3]; ++axis) {
    std::array<uint8_t, 4> bytes{};
    read_exactly(reader, bytes, place);
    const uint64_t extent = read_big_endian(bytes.data());
    dims.push_back(static_cast<int64_t>(extent));
    if (extent != 0 && header.payload_bytes > kMostBytes / extent) too_large = true;
    if (!too_large) header.payload_bytes *= extent;
  }
  header.shape = Shape(std::move(dims));
  if (too_large) {
    throw IoError(place, ": IDX header asks for an array ", header.shape,
                  ", more than any file holds");
  }
  return header;
}

// The payload grows as bytes arrive, so that a header with too large a size costs no memory.
std::vector<uint8_t> read_payload(PlainReader& reader, const Header& header,
                                  const std::string& place) {
  const uint64_t wanted = header.payload_bytes;
  const uint64_t most = reader.most_left();
  if (wanted > most) {
    throw IoError(place, ": truncated: expected ", wanted, " bytes for an array ", header.shape,
                  ", got ", reader.compressed() ? "at most " : "", most);
  }
  std::vector<uint8_t> payload;
  while (payload.size() < wanted) {
    const size_t before = payload.size();
    const uint64_t next = std::min<uint64_t>(wanted, std::max(kFirstChunk, 2 * before));
    require_memory(concat("the bytes of ", place), static_cast<int64_t>(next));
    payload.resize(next);
    const size_t asked = payload.size() - before;
    const size_t found = reader.read(std::span(payload).subspan(before));
    if (found != asked) {
      throw IoError(place, ": truncated: expected ", wanted, " bytes for an array ", header.shape,
                    ", got ", before + found);
    }
  }
  std::array<uint8_t, 1> extra{};
  if (reader.read(extra) != 0) {
    throw IoError(place, ": bytes follow the end of the array ", header.shape, ": expected ",
                  wanted, " bytes, got ",
                  reader.compressed() ? "more" : concat(wanted + 1 + reader.most_left()));
  }
  return payload;
}

// Elements of `From`, big-endian, as elements of `To`; Bits is the unsigned type of that size.
template <typename From, typename Bits, typename To>
void convert(std::span<const uint8_t> payload, std::span<To> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    Bits bits = 0;
    for (size_t b = 0; b < sizeof(Bits); ++b) {
      bits = static_cast<Bits>(static_cast<uint64_t>(bits) << 8 | payload[i * sizeof(Bits) + b]);
    }
    to[i] = static_cast<To>(std::bit_cast<From>(bits));
  }
}

Tensor to_tensor(const Header& header, std::span<const uint8_t> payload) {
  const bool real = header.type == 0x0d || header.type == 0x0e;
  const DType dtype = header.type == 0x08 ? DType::u8 : real ? DType::f32 : DType::i32;
  Tensor tensor(dtype, header.shape);
  switch (header.type) {
    case 0x08: std::ranges::copy(payload, tensor.u8().begin()); break;
    case 0x09: convert<int8_t, uint8_t>(payload, tensor.i32()); break;
    case 0x0b: convert<int16_t, uint16_t>(payload, tensor.i32()); break;
    case 0x0c: convert<int32_t, uint32_t>(payload, tensor.i32()); break;
    case 0x0d: convert<float, uint32_t>(payload, tensor.f32()); break;
    default: convert<double, uint64_t>(payload, tensor.f32()); break;
  }
  return tensor;
}

}  // namespace

Tensor parse_idx(std::span<const uint8_t> content, const std::string& place) {
  PlainReader reader(content, place);
  const Header header = read_header(reader, place);
  return to_tensor(header, read_payload(reader, header, place));
}

Tensor read_idx(const std::string& path) { return parse_idx(data::read_file(path), path); }

}  // namespace pando
