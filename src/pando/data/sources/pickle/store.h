// The values of a pickle while it is read and after. Private to the reader.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/base/error.h"
#include "pando/data/sources/pickle/pickle.h"

namespace pando::data {

enum class PickleName { reconstruct, frombuffer, ndarray, dtype, encode };

// One value. Items are numbers of other values, so values may contain themselves, and nothing is
// copied when the pickle asks for it: memory is proportional to the length of the pickle.
struct PickleNode {
  PickleKind kind = PickleKind::none;
  bool built = false;  // an array or dtype that has its contents
  PickleName name = PickleName::ndarray;
  size_t offset = 0;
  int64_t integer = 0;  // also of a boolean; whether a dtype is big-endian, an array column-major
  std::span<const uint8_t> bytes;  // of text, bytes and dtype (such as u1)
  // For a list or tuple, the items; for a dict, keys and values in turn; for bytes made from text,
  // the text; for an array, shape, dtype and bytes.
  std::vector<uint32_t> items;
};

struct PickleStore {
  std::string place;
  std::vector<PickleNode> nodes;
  bool is_cut = false;  // the file ends early, so arrays may have fewer bytes than their shapes

  template <typename... Parts>
  [[noreturn]] void fail(size_t offset, const Parts&... parts) const {
    throw IoError(place, ": pickle, offset ", offset, ": ", parts...);
  }
  const PickleNode& at(uint32_t id) const { return nodes[id]; }
  std::string describe(uint32_t id) const;
  const PickleNode& expect(uint32_t id, PickleKind kind) const;  // throws IoError
  // Text and bytes as they are; for bytes made from text, decoded into `decoded`.
  std::span<const uint8_t> raw(uint32_t id, std::vector<uint8_t>& decoded) const;
  std::string text(uint32_t id) const;
};

// The name that Python gives to an opcode that this reader refuses; null if Python has no such
// opcode.
const char* refused_opcode_name(uint8_t opcode);
// The meaning of a name of a module; nothing if it is not part of an array.
std::optional<PickleName> known_pickle_name(std::string_view module, std::string_view name);

// Runs the pickle and returns the number of its result. `cut`: as for parse_pickle().
uint32_t run_pickle(std::span<const uint8_t> content, PickleStore& store, std::string* cut);

}  // namespace pando::data
