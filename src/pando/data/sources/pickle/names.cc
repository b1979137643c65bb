// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "pando/data/sources/pickle/store.h"

namespace pando::data {

namespace {

struct OpcodeName {
  uint8_t code;
  const char* name;
};

// Opcodes of Python that this reader refuses.
constexpr std::array kRefused = {
    OpcodeName{'0', "POP"},          OpcodeName{'1', "POP_MARK"},
    OpcodeName{'2', "DUP"},          OpcodeName{'F', "FLOAT"},
    OpcodeName{'G', "BINFLOAT"},     OpcodeName{'I', "INT"},
    OpcodeName{'L', "LONG"},         OpcodeName{'P', "PERSID"},
    OpcodeName{'Q', "BINPERSID"},    OpcodeName{'S', "STRING"},
    OpcodeName{'V', "UNICODE"},      OpcodeName{'d', "DICT"},
    OpcodeName{'g', "GET"},          OpcodeName{'i', "INST"},
    OpcodeName{'l', "LIST"},         OpcodeName{'o', "OBJ"},
    OpcodeName{'p', "PUT"},          OpcodeName{0x81, "NEWOBJ"},
    OpcodeName{0x82, "EXT1"},        OpcodeName{0x83, "EXT2"},
    OpcodeName{0x84, "EXT4"},        OpcodeName{0x8b, "LONG4"},
    OpcodeName{0x8f, "EMPTY_SET"},   OpcodeName{0x90, "ADDITEMS"},
    OpcodeName{0x91, "FROZENSET"},   OpcodeName{0x92, "NEWOBJ_EX"},
    OpcodeName{0x97, "NEXT_BUFFER"}, OpcodeName{0x98, "READONLY_BUFFER"}};

struct KnownName {
  std::string_view module;
  std::string_view name;
  PickleName meaning;
};

// numpy moved its modules with version 2.
constexpr std::array kKnownNames = {
    KnownName{"numpy.core.multiarray", "_reconstruct", PickleName::reconstruct},
    KnownName{"numpy._core.multiarray", "_reconstruct", PickleName::reconstruct},
    KnownName{"numpy.core.numeric", "_frombuffer", PickleName::frombuffer},
    KnownName{"numpy._core.numeric", "_frombuffer", PickleName::frombuffer},
    KnownName{"numpy", "ndarray", PickleName::ndarray},
    KnownName{"numpy", "dtype", PickleName::dtype},
    KnownName{"_codecs", "encode", PickleName::encode}};

}  // namespace

const char* refused_opcode_name(uint8_t opcode) {
  const auto* found =
      std::ranges::find_if(kRefused, [&](const OpcodeName& each) { return each.code == opcode; });
  return found == kRefused.end() ? nullptr : found->name;
}

std::optional<PickleName> known_pickle_name(std::string_view module, std::string_view name) {
  for (const KnownName& each : kKnownNames) {
    if (each.module == module && each.name == name) return each.meaning;
  }
  return std::nullopt;
}

}  // namespace pando::data
