// A number of bytes as users write it: "512M", "2G", "4096".
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pando/options/option_types.h"

namespace pando {

struct ByteSize {
  int64_t bytes = 0;
  bool operator==(const ByteSize&) const = default;
};

// Reads a whole number that may end in K, M, G or T (powers of 1024, in any case) or in KiB, MiB,
// GiB or TiB. Returns nothing for other text and for numbers that do not fit into int64_t.
std::optional<ByteSize> parse_byte_size(std::string_view text);

// The number with the largest unit that divides it: "512M".
std::string to_string(const ByteSize& size);

template <>
struct OptionType<ByteSize> {
  static constexpr const char* kWanted = "a number of bytes such as 512M (units K, M, G, T)";
  static bool read(const ConfigValue& value, ByteSize& field);
  static ConfigValue show(const ByteSize& field) { return ConfigValue::scalar(to_string(field)); }
};

}  // namespace pando
