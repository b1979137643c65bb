// SPDX-License-Identifier: MIT
#include "pando/options/byte_size.h"

#include <cctype>

#include "pando/base/strings.h"

namespace pando {
namespace {

constexpr std::string_view kUnits = "KMGT";

}  // namespace

std::optional<ByteSize> parse_byte_size(std::string_view text) {
  int64_t unit = 1;
  // "7MiB" means "7M"; "iB" without K, M, G or T before it is rejected below.
  const bool is_long = text.ends_with("iB");
  if (is_long) text.remove_suffix(2);
  if (!text.empty()) {
    const auto last = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
    const size_t power = kUnits.find(last);
    if (power != std::string_view::npos) {
      unit = int64_t{1} << (10 * (power + 1));
      text.remove_suffix(1);
    }
  }
  if (is_long && unit == 1) return std::nullopt;
  const auto number = parse_int(text);
  int64_t bytes = 0;
  if (!number || *number < 0 || __builtin_mul_overflow(*number, unit, &bytes)) return std::nullopt;
  return ByteSize{bytes};
}

std::string to_string(const ByteSize& size) {
  int64_t number = size.bytes;
  size_t power = 0;
  while (number > 0 && number % 1024 == 0 && power < kUnits.size()) {
    number /= 1024;
    ++power;
  }
  return power == 0 ? std::to_string(number) : std::to_string(number) + kUnits[power - 1];
}

bool OptionType<ByteSize>::read(const ConfigValue& value, ByteSize& field) {
  const auto parsed =
      value.kind == ConfigValue::Kind::scalar ? parse_byte_size(value.text) : std::nullopt;
  if (parsed) field = *parsed;
  return parsed.has_value();
}

}  // namespace pando
