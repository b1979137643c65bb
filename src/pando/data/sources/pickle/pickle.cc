// SPDX-License-Identifier: MIT
#include "pando/data/sources/pickle/pickle.h"

#include <array>
#include <limits>
#include <utility>

#include "pando/data/sources/pickle/store.h"

namespace pando::data {

namespace {

constexpr std::array<const char*, 11> kKinds = {"None",   "a boolean", "an integer", "text",
                                                "bytes",  "a list",    "a tuple",    "a dict",
                                                "a name", "a dtype",   "an array"};
constexpr size_t kMostAxes = 32;  // as many as numpy has
// Limits of the keys that a message about a dict shows.
constexpr size_t kMostKeys = 16;
constexpr size_t kLongestKey = 40;

// numpy writes bytes for protocol 2 as text in which every character is one byte.
std::vector<uint8_t> encode_latin1(const PickleStore& store, const PickleNode& text) {
  std::vector<uint8_t> result;
  result.reserve(text.bytes.size());
  for (size_t i = 0; i < text.bytes.size(); ++i) {
    const uint8_t first = text.bytes[i];
    if (first < 0x80) {
      result.push_back(first);
      continue;
    }
    const bool whole = i + 1 < text.bytes.size() && (text.bytes[i + 1] & 0xc0) == 0x80;
    if ((first != 0xc2 && first != 0xc3) || !whole) {
      store.fail(text.offset, "the text holds byte ", static_cast<int>(first), " at its byte ", i,
                 ", expected UTF-8 of characters below 256");
    }
    result.push_back(static_cast<uint8_t>((first & 0x03) << 6 | (text.bytes[i + 1] & 0x3f)));
    ++i;
  }
  return result;
}

// A key of a dict as it is stored. The keys that we look for are ASCII, which decoding does not
// change, and a hostile file with many entries must not cause many decodings.
std::optional<std::string_view> key_of(const PickleStore& store, uint32_t id) {
  const PickleNode* node = &store.at(id);
  if (node->kind != PickleKind::text && node->kind != PickleKind::bytes) return std::nullopt;
  if (!node->items.empty()) node = &store.at(node->items[0]);
  return std::string_view(reinterpret_cast<const char*>(node->bytes.data()), node->bytes.size());
}

// "u1" -> type and size. Accepts only types that can be read as numbers.
void set_dtype(const PickleStore& store, const PickleNode& dtype, PickleArray& array) {
  const std::string name(dtype.bytes.begin(), dtype.bytes.end());
  const auto size = name.size() == 2 ? static_cast<size_t>(name[1] - '0') : 0;
  const bool known =
      name == "b1" || ((size == 1 || size == 2 || size == 4 || size == 8) &&
                       (name[0] == 'u' || name[0] == 'i' || (name[0] == 'f' && size != 1)));
  if (!known) {
    store.fail(dtype.offset, "the array is of dtype '", name,
               "', expected b1, u1, u2, u4, u8, i1, i2, i4, i8, f2, f4 or f8");
  }
  array.type = name[0];
  array.item_bytes = size;
  array.big_endian = dtype.integer != 0;
}

// Throws unless the array has exactly the bytes that its shape needs.
void check_size(const PickleStore& store, const PickleNode& node, const PickleArray& array) {
  uint64_t wanted = array.item_bytes;
  for (const int64_t extent : array.shape) {
    const auto count = static_cast<uint64_t>(extent);
    if (count != 0 && wanted > std::numeric_limits<uint64_t>::max() / count) {
      store.fail(node.offset, "the array has ", array.shape.size(),
                 " axes with more elements than any file holds");
    }
    wanted *= count;
  }
  if (store.is_cut && array.bytes.size() < wanted) return;
  if (wanted != array.bytes.size()) {
    store.fail(node.offset, "the array holds ", array.bytes.size(), " bytes, expected ", wanted,
               " for its shape");
  }
}

}  // namespace

int64_t PickleArray::elements() const { return static_cast<int64_t>(bytes.size() / item_bytes); }

int64_t PickleArray::integer_at(size_t index) const {
  uint64_t bits = 0;
  for (size_t b = 0; b < item_bytes; ++b) {
    const size_t from = big_endian ? b : item_bytes - 1 - b;
    bits = bits << 8 | bytes[index * item_bytes + from];
  }
  const auto unused = static_cast<int>(64 - 8 * item_bytes);
  if (type != 'i') return static_cast<int64_t>(bits);
  return static_cast<int64_t>(bits << unused) >> unused;
}

std::string PickleStore::describe(uint32_t id) const {
  const PickleNode& node = at(id);
  const char* kind = kKinds[static_cast<size_t>(node.kind)];
  switch (node.kind) {
    case PickleKind::boolean: return node.integer != 0 ? "True" : "False";
    case PickleKind::integer: return concat("the integer ", node.integer);
    case PickleKind::text: return concat(kind, " of ", node.bytes.size(), " bytes");
    case PickleKind::list:
    case PickleKind::tuple: return concat(kind, " of ", node.items.size(), " items");
    case PickleKind::dict: return concat(kind, " of ", node.items.size() / 2, " entries");
    default: return kind;
  }
}

const PickleNode& PickleStore::expect(uint32_t id, PickleKind kind) const {
  const PickleNode& node = at(id);
  if (node.kind != kind) {
    fail(node.offset, "expected ", kKinds[static_cast<size_t>(kind)], ", got ", describe(id));
  }
  return node;
}

std::span<const uint8_t> PickleStore::raw(uint32_t id, std::vector<uint8_t>& decoded) const {
  const PickleNode& node = at(id);
  if (node.kind != PickleKind::text) expect(id, PickleKind::bytes);
  if (node.items.empty()) return node.bytes;
  decoded = encode_latin1(*this, at(node.items[0]));
  return decoded;
}

std::string PickleStore::text(uint32_t id) const {
  std::vector<uint8_t> decoded;
  const std::span<const uint8_t> bytes = raw(id, decoded);
  return {bytes.begin(), bytes.end()};
}

PickleValue::PickleValue(std::shared_ptr<const PickleStore> store, uint32_t id)
    : store_(std::move(store)), id_(id) {}

PickleKind PickleValue::kind() const { return store_->at(id_).kind; }
size_t PickleValue::offset() const { return store_->at(id_).offset; }
std::string PickleValue::describe() const { return store_->describe(id_); }

size_t PickleValue::size() const {
  if (kind() == PickleKind::dict) return store_->at(id_).items.size() / 2;
  if (kind() == PickleKind::tuple) return store_->at(id_).items.size();
  return store_->expect(id_, PickleKind::list).items.size();
}

PickleValue PickleValue::at(size_t item) const {
  PANDO_CHECK(kind() != PickleKind::dict && item < size());
  return {store_, store_->at(id_).items[item]};
}

std::optional<PickleValue> PickleValue::find(std::string_view key) const {
  const std::vector<uint32_t>& items = store_->expect(id_, PickleKind::dict).items;
  for (size_t i = items.size(); i >= 2; i -= 2) {
    const std::optional<std::string_view> name = key_of(*store_, items[i - 2]);
    if (name && *name == key) return PickleValue(store_, items[i - 1]);
  }
  return std::nullopt;
}

std::vector<std::string> PickleValue::keys() const {
  std::vector<std::string> result;
  const std::vector<uint32_t>& items = store_->expect(id_, PickleKind::dict).items;
  for (size_t i = 0; i < items.size() && result.size() < kMostKeys; i += 2) {
    const std::optional<std::string_view> name = key_of(*store_, items[i]);
    if (name) result.emplace_back(name->substr(0, kLongestKey));
  }
  return result;
}

int64_t PickleValue::integer() const { return store_->expect(id_, PickleKind::integer).integer; }

std::string PickleValue::text() const { return store_->text(id_); }

PickleArray PickleValue::array() const {
  const PickleNode& node = store_->expect(id_, PickleKind::array);
  if (!node.built) store_->fail(node.offset, "the array has no contents");
  PickleArray array;
  const PickleNode& shape = store_->expect(node.items[0], PickleKind::tuple);
  if (shape.items.size() > kMostAxes) {
    store_->fail(shape.offset, "the array has ", shape.items.size(), " axes, expected at most ",
                 kMostAxes);
  }
  for (const uint32_t item : shape.items) {
    const int64_t extent = store_->expect(item, PickleKind::integer).integer;
    if (extent < 0) {
      store_->fail(store_->at(item).offset, "the array has an extent of ", extent,
                   ", expected at least 0");
    }
    array.shape.push_back(extent);
  }
  set_dtype(*store_, store_->expect(node.items[1], PickleKind::dtype), array);
  array.column_major = node.integer != 0;
  array.bytes = store_->raw(node.items[2], array.decoded);
  check_size(*store_, node, array);
  return array;
}

PickleValue parse_pickle(std::span<const uint8_t> content, const std::string& place,
                         std::string* cut) {
  const auto store = std::make_shared<PickleStore>();
  store->place = place;
  const uint32_t result = run_pickle(content, *store, cut);
  return {store, result};
}

}  // namespace pando::data
