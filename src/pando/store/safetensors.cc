// SPDX-License-Identifier: MIT
#include "pando/store/safetensors.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>

#include "pando/base/checked.h"
#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/data/sources/gzip.h"
#include "pando/store/atomic_file.h"

namespace pando::store {

namespace {

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kLongestHeader = 100'000'000;
constexpr size_t kAlignment = 8;  // of the data in files that we write
constexpr size_t kMostAxes = 64;
constexpr size_t kShownName = 100;  // characters in messages
constexpr const char* kMetadata = "__metadata__";

// How elements of the file become elements of a tensor.
enum class Conversion { copy, from_f64, from_integer };

struct ElementKind {
  const char* name;
  size_t bytes;
  DType dtype;
  Conversion conversion = Conversion::copy;
  bool is_signed = false;
};

constexpr ElementKind kElementKinds[] = {
    {"F32", 4, DType::f32},
    {"F16", 2, DType::f16},
    {"BF16", 2, DType::bf16},
    {"F64", 8, DType::f32, Conversion::from_f64},
    {"U8", 1, DType::u8},
    {"BOOL", 1, DType::u8},
    {"I32", 4, DType::i32},
    {"I8", 1, DType::i32, Conversion::from_integer, true},
    {"I16", 2, DType::i32, Conversion::from_integer, true},
    {"I64", 8, DType::i32, Conversion::from_integer, true},
    {"U16", 2, DType::i32, Conversion::from_integer},
    {"U32", 4, DType::i32, Conversion::from_integer},
    {"U64", 8, DType::i32, Conversion::from_integer},
};

// One tensor as the header describes it.
struct Entry {
  std::string name;
  const ElementKind* kind = nullptr;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

const ElementKind& kind_named(const std::string& name) {
  std::vector<std::string> known;
  for (const ElementKind& kind : kElementKinds) {
    if (name == kind.name) return kind;
    known.emplace_back(kind.name);
  }
  throw IoError(unknown_name_message("dtype", name.substr(0, kShownName), known));
}

// The bytes that type and shape need; throws IoError if they do not fit into a number.
uint64_t bytes_of(const Entry& entry) {
  // Extents of 0 make a tensor empty; the others must be no more than a size either.
  bool is_empty = false;
  std::optional<int64_t> bytes = static_cast<int64_t>(entry.kind->bytes);
  for (const int64_t extent : entry.shape) {
    if (extent < 0) throw IoError("shape: expected extents of at least 0, got ", extent);
    is_empty = is_empty || extent == 0;
    if (bytes && extent > 0) bytes = product_of({*bytes, extent});
  }
  if (!bytes) throw IoError("shape: the number of bytes is too large");
  return is_empty ? 0 : static_cast<uint64_t>(*bytes);
}

Entry entry_of(const Json::Member& member, uint64_t data_bytes) {
  try {
    Entry entry{.name = member.key, .kind = &kind_named(member.value.get<std::string>("dtype"))};
    entry.shape = member.value.get<std::vector<int64_t>>("shape");
    if (entry.shape.size() > kMostAxes) {
      throw IoError("shape: expected up to ", kMostAxes, " axes, got ", entry.shape.size());
    }
    const auto offsets = member.value.get<std::vector<uint64_t>>("data_offsets");
    if (offsets.size() != 2)
      throw IoError("data_offsets: expected 2 numbers, got ", offsets.size());
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (entry.begin > entry.end || entry.end > data_bytes) {
      throw IoError("data_offsets: expected a range within the ", data_bytes,
                    " bytes of data, got ", entry.begin, " to ", entry.end);
    }
    const uint64_t wanted = bytes_of(entry);
    if (entry.end - entry.begin != wanted) {
      throw IoError("data_offsets: expected ", wanted, " bytes for ", entry.kind->name,
                    " of this shape, got ", entry.end - entry.begin);
    }
    return entry;
  } catch (const IoError& error) {
    throw IoError("tensor '", member.key.substr(0, kShownName), "': ", error.what());
  }
}

// Sorts the entries by their places and checks that they cover the data.
void check_cover(std::vector<Entry>& entries, uint64_t data_bytes) {
  std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t next = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != next) {
      throw IoError("tensor '", entry.name.substr(0, kShownName),
                    "': expected it to begin at byte ", next,
                    " of the data, where the one before it ends, got ", entry.begin);
    }
    next = entry.end;
  }
  if (next != data_bytes) {
    throw IoError("the tensors end at byte ", next, " of the data, expected ", data_bytes,
                  ", the end of the file");
  }
}

int64_t integer_at(const uint8_t* bytes, const ElementKind& kind) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, kind.bytes);  // little-endian, as all machines that we run on
  const auto unused = static_cast<int>(64 - 8 * kind.bytes);
  if (kind.is_signed) return static_cast<int64_t>(value << unused) >> unused;
  return value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
             ? std::numeric_limits<int64_t>::max()
             : static_cast<int64_t>(value);
}

Tensor tensor_of(const Entry& entry, std::span<const uint8_t> data) {
  Tensor tensor(entry.kind->dtype, Shape(entry.shape));
  const uint8_t* from = data.data() + entry.begin;
  const auto count = static_cast<size_t>(tensor.elements());
  switch (entry.kind->conversion) {
    case Conversion::copy:
      if (count > 0) std::memcpy(tensor.data(), from, tensor.bytes());
      break;
    case Conversion::from_f64:
      for (size_t i = 0; i < count; ++i) {
        double value = 0;
        std::memcpy(&value, from + i * sizeof(value), sizeof(value));
        tensor.f32()[i] = static_cast<float>(value);
      }
      break;
    case Conversion::from_integer:
      for (size_t i = 0; i < count; ++i) {
        const int64_t value = integer_at(from + i * entry.kind->bytes, *entry.kind);
        if (value != static_cast<int32_t>(value)) {
          throw IoError("tensor '", entry.name.substr(0, kShownName), "': element ", i,
                        " is beyond 32 bits; expected numbers from -2^31 to 2^31 - 1");
        }
        tensor.i32()[i] = static_cast<int32_t>(value);
      }
      break;
  }
  return tensor;
}

std::string_view header_of(std::span<const uint8_t> bytes) {
  uint64_t length = 0;
  if (bytes.size() < kLengthBytes) {
    throw IoError("expected at least ", kLengthBytes, " bytes, got ", bytes.size());
  }
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kLongestHeader) {
    throw IoError("the length of the header is ", length, " bytes, expected up to ",
                  kLongestHeader);
  }
  if (length > bytes.size() - kLengthBytes) {
    throw IoError("the header has ", length, " bytes, but only ", bytes.size() - kLengthBytes,
                  " follow: the file is cut short or no safetensors file");
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                                static_cast<size_t>(length));
  if (!header.starts_with('{')) throw IoError("the header does not begin with '{'");
  return header;
}

SafetensorsFile parse_unnamed(std::span<const uint8_t> bytes) {
  const std::string_view header = header_of(bytes);
  const std::span<const uint8_t> data = bytes.subspan(kLengthBytes + header.size());
  const Json json = Json::parse_strictly(header);
  SafetensorsFile file;
  std::vector<Entry> entries;
  for (const Json::Member& member : json.members()) {
    if (member.key == kMetadata) {
      for (const Json::Member& one : member.value.members()) {
        file.metadata.emplace(one.key, one.value.get<std::string>());
      }
    } else {
      entries.push_back(entry_of(member, data.size()));
    }
  }
  check_cover(entries, data.size());
  for (const Entry& entry : entries) file.tensors.push_back({entry.name, tensor_of(entry, data)});
  return file;
}

const char* name_of(DType dtype) {
  for (const ElementKind& kind : kElementKinds) {
    if (kind.dtype == dtype && kind.conversion == Conversion::copy) return kind.name;
  }
  throw InternalError("safetensors: no name for ", to_string(dtype));
}

void check_names(const SafetensorsFile& file) {
  std::set<std::string> names;
  for (const NamedWeight& tensor : file.tensors) {
    if (tensor.name.empty() || tensor.name == kMetadata || !names.insert(tensor.name).second) {
      throw InvalidArgument("safetensors: the name '", tensor.name,
                            "' is empty, reserved or used twice; rename the tensor");
    }
  }
}

}  // namespace

SafetensorsFile parse_safetensors(std::span<const uint8_t> bytes, const std::string& place) {
  try {
    return parse_unnamed(bytes);
  } catch (const IoError& error) {
    throw IoError(place, ": safetensors: ", error.what());
  }
}

SafetensorsFile read_safetensors(const std::string& path) {
  return parse_safetensors(data::read_file(path), path);
}

bool looks_like_safetensors(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char start[kLengthBytes + 1] = {};
  if (!file.read(start, sizeof(start))) return false;
  uint64_t length = 0;
  std::memcpy(&length, start, sizeof(length));
  return length <= kLongestHeader && start[kLengthBytes] == '{';
}

void write_safetensors(const std::string& path, const SafetensorsFile& file) {
  check_names(file);
  Json json = Json::object();
  if (!file.metadata.empty()) json[kMetadata] = Json(file.metadata);
  std::vector<std::byte> data;
  for (const NamedWeight& tensor : file.tensors) {
    const uint64_t begin = data.size();
    data.insert(data.end(), tensor.value.data(), tensor.value.data() + tensor.value.bytes());
    json.add_member(tensor.name, {{"dtype", name_of(tensor.value.dtype())},
                                  {"shape", tensor.value.shape().dims()},
                                  {"data_offsets", std::vector<uint64_t>{begin, data.size()}}});
  }
  std::string header = json.dump();
  header.append((kAlignment - header.size() % kAlignment) % kAlignment, ' ');
  const uint64_t length = header.size();
  replace_file(path,
               {std::as_bytes(std::span(&length, 1)), std::as_bytes(std::span(header)), data});
}

}  // namespace pando::store
