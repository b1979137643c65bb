// SPDX-License-Identifier: MIT
#include "pando/wire/base64.h"

#include <array>
#include <cstdint>

namespace pando::wire {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xFF;

constexpr auto kDigits = [] {
  std::array<uint8_t, 256> digits = {};
  digits.fill(kNoDigit);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  digits['-'] = 62;
  digits['_'] = 63;
  return digits;
}();

uint8_t digit_of(char c) { return kDigits[static_cast<uint8_t>(c)]; }

}  // namespace

bool base64_decode(std::string_view text, std::string& out) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return false;
  const size_t begin = out.size();
  out.resize(begin + text.size() / 4 * 3 + (text.size() % 4 == 0 ? 0 : text.size() % 4 - 1));
  char* to = out.data() + begin;
  size_t i = 0;
  for (; i + 4 <= text.size(); i += 4) {
    const uint8_t a = digit_of(text[i]);
    const uint8_t b = digit_of(text[i + 1]);
    const uint8_t c = digit_of(text[i + 2]);
    const uint8_t d = digit_of(text[i + 3]);
    if (((a | b | c | d) & 0xC0) != 0) return false;
    *to++ = static_cast<char>(a << 2 | b >> 4);
    *to++ = static_cast<char>(b << 4 | c >> 2);
    *to++ = static_cast<char>(c << 6 | d);
  }
  if (i == text.size()) return true;
  const uint8_t a = digit_of(text[i]);
  const uint8_t b = digit_of(text[i + 1]);
  const uint8_t c = i + 2 < text.size() ? digit_of(text[i + 2]) : 0;
  if (((a | b | c) & 0xC0) != 0) return false;
  *to++ = static_cast<char>(a << 2 | b >> 4);
  if (i + 2 < text.size()) *to = static_cast<char>(b << 4 | c >> 2);
  return true;
}

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t k) -> unsigned {
      return i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0;
    };
    const unsigned three = byte(0) << 16 | byte(1) << 8 | byte(2);
    text += kAlphabet[three >> 18];
    text += kAlphabet[three >> 12 & 63];
    text += i + 1 < bytes.size() ? kAlphabet[three >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kAlphabet[three & 63] : '=';
  }
  return text;
}

}  // namespace pando::wire
