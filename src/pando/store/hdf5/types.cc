// SPDX-License-Identifier: MIT
#include "pando/store/hdf5/types.h"

#include <algorithm>
#include <array>

namespace pando::store::hdf5 {

namespace {

constexpr std::string_view kDatatype = "datatype";
constexpr size_t kMostRank = 32;
constexpr uint64_t kMostElements = uint64_t{1} << 48;

enum class TypeClass : uint8_t {
  integer = 0,
  floating = 1,
  text = 3,
  enumeration = 8,
  variable = 9
};

constexpr std::array kClassNames = {
    "an integer type",     "a floating point type",  "a time type",     "a string type",
    "a bit field type",    "an opaque type",         "a compound type", "a reference type",
    "an enumeration type", "a variable-length type", "an array type"};

// Where the fields of a floating point number are.
struct FloatForm {
  uint32_t bytes;
  uint8_t sign;
  uint8_t exponent_at, exponent_bits;
  uint8_t fraction_bits;
  uint32_t bias;
};
constexpr FloatForm kIeeeForms[] = {
    {2, 15, 10, 5, 10, 15}, {4, 31, 23, 8, 23, 127}, {8, 63, 52, 11, 52, 1023}};

// The front of every datatype.
struct TypeFront {
  uint8_t type_class;
  uint32_t bits;
  uint32_t bytes;

  bool bit(int index) const { return (bits >> index & 1) != 0; }
};

TypeFront parse_front(Cursor& cursor) {
  const uint8_t first = cursor.u8();
  const auto bits = static_cast<uint32_t>(cursor.number(3));
  return {static_cast<uint8_t>(first & 15), bits, cursor.u32()};
}

void parse_integer(const TypeFront& front, Cursor& cursor, Datatype& type) {
  const uint32_t offset = cursor.u16();
  const uint32_t precision = cursor.u16();
  type.big_endian = front.bit(0);
  type.is_signed = front.bit(3);
  type.name = concat(type.is_signed ? "int" : "uint", precision);
  const bool whole = offset == 0 && precision == 8 * front.bytes;
  if (whole && (front.bytes == 1 || front.bytes == 2 || front.bytes == 4 || front.bytes == 8)) {
    type.kind = ElementKind::integer;
  }
}

void parse_floating(const TypeFront& front, Cursor& cursor, Datatype& type) {
  const uint32_t offset = cursor.u16();
  const uint32_t precision = cursor.u16();
  const uint8_t exponent_at = cursor.u8();
  const uint8_t exponent_bits = cursor.u8();
  const uint8_t fraction_at = cursor.u8();
  const uint8_t fraction_bits = cursor.u8();
  const uint32_t bias = cursor.u32();
  type.big_endian = front.bit(0);
  type.name = concat("floating point of ", precision, " bits");
  const uint32_t sign = front.bits >> 8 & 255;
  const bool hidden_bit = (front.bits >> 4 & 3) == 2;
  const bool plain = offset == 0 && precision == 8 * front.bytes && fraction_at == 0 &&
                     hidden_bit && !front.bit(6);
  const auto is_this = [&](const FloatForm& form) {
    return form.bytes == front.bytes && form.sign == sign && form.exponent_at == exponent_at &&
           form.exponent_bits == exponent_bits && form.fraction_bits == fraction_bits &&
           form.bias == bias;
  };
  if (plain && std::ranges::any_of(kIeeeForms, is_this)) type.kind = ElementKind::floating;
}

void parse_text(const TypeFront& front, ElementKind kind, Datatype& type) {
  const uint32_t padding = front.bits & 15;
  if (padding > 2) return;
  type.kind = kind;
  type.padding = static_cast<StringPadding>(padding);
}

// The words of a string without what fills up its field.
std::string unpadded(ByteSpan field, StringPadding padding) {
  std::string text(field.begin(), field.end());
  if (padding == StringPadding::spaces) {
    text.erase(text.find_last_not_of(' ') + 1);
  } else if (const size_t end = text.find('\0'); end != std::string::npos) {
    text.erase(end);
  }
  return text;
}

}  // namespace

Datatype parse_datatype(const FileBytes& file, ByteSpan body) {
  Cursor cursor = file.cursor(body, kDatatype);
  TypeFront front = parse_front(cursor);
  Datatype type{.bytes = front.bytes};
  const size_t number = front.type_class;
  type.name = number < kClassNames.size() ? kClassNames[number] : "an unknown type";
  if (front.bytes == 0) throw IoError(kDatatype, " without bytes; the file is damaged");
  switch (static_cast<TypeClass>(front.type_class)) {
    case TypeClass::enumeration:  // h5py's bool; read as its integer
      front = parse_front(cursor);
      if (front.type_class != 0 || front.bytes != type.bytes) break;
      parse_integer(front, cursor, type);
      break;
    case TypeClass::integer: parse_integer(front, cursor, type); break;
    case TypeClass::floating: parse_floating(front, cursor, type); break;
    case TypeClass::text: parse_text(front, ElementKind::fixed_string, type); break;
    case TypeClass::variable:
      // The length, the address of a heap and a 32-bit index; the padding has four bits further up.
      if ((front.bits & 15) != 1 || front.bytes != 8u + file.widths().address) break;
      parse_text({front.type_class, front.bits >> 4 & 15, front.bytes},
                 ElementKind::variable_string, type);
      break;
    default: break;
  }
  return type;
}

Dataspace parse_dataspace(const FileBytes& file, ByteSpan body) {
  Cursor cursor = file.cursor(body, "dataspace");
  const int version = cursor.u8();
  const size_t rank = cursor.u8();
  const uint8_t flags = cursor.u8();
  if (version != 1 && version != 2) throw IoError("dataspace: unknown version ", version);
  if (rank > kMostRank) throw IoError("dataspace: rank ", rank, " is too large");
  Dataspace space;
  if (version == 2) {
    space.null = cursor.u8() == 2;
  } else {
    cursor.skip(5);
  }
  for (size_t i = 0; i < rank; ++i) space.dims.push_back(cursor.length());
  space.most_dims = space.dims;
  if ((flags & 1) == 0) return space;
  const uint64_t unlimited = kNowhere >> (64 - 8 * file.widths().length);
  for (uint64_t& most : space.most_dims) {
    most = cursor.length();
    if (most == unlimited) most = kNowhere;
  }
  return space;
}

uint64_t Dataspace::elements() const {
  if (null) return 0;
  uint64_t product = 1;
  for (const uint64_t extent : dims) {
    if (extent > kMostElements || __builtin_mul_overflow(product, extent, &product) ||
        product > kMostElements) {
      throw IoError("an extent of ", extent, " is too large for a weight");
    }
  }
  return product;
}

std::vector<std::string> decode_strings(const FileBytes& file, GlobalHeap& heap,
                                        const Datatype& type, ByteSpan raw) {
  std::vector<std::string> values;
  for (; !raw.empty(); raw = raw.subspan(type.bytes)) {
    const ByteSpan field = raw.first(type.bytes);
    if (type.kind == ElementKind::fixed_string) {
      values.push_back(unpadded(field, type.padding));
      continue;
    }
    Cursor cursor = file.cursor(field, "string");
    const uint32_t bytes = cursor.u32();
    const uint64_t collection = cursor.address();
    const std::string text = heap.text(collection, cursor.u32(), bytes);
    values.push_back(text.substr(0, text.find('\0')));
  }
  return values;
}

}  // namespace pando::store::hdf5
