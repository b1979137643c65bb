// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "pando/base/strings.h"
#include "pando/grpc/framing_impl.h"

namespace pando::grpc {
namespace {

constexpr size_t kMostDigits = 8;

uint32_t length_in(const std::array<char, kPrefixBytes>& prefix) {
  uint32_t length = 0;
  for (size_t i = 1; i < kPrefixBytes; ++i) {
    length = length << 8 | static_cast<uint8_t>(prefix[i]);
  }
  return length;
}

std::optional<std::chrono::nanoseconds> unit_of(char letter) {
  using namespace std::chrono_literals;
  switch (letter) {
    case 'H': return 1h;
    case 'M': return 1min;
    case 'S': return 1s;
    case 'm': return 1ms;
    case 'u': return 1us;
    case 'n': return 1ns;
    default: return std::nullopt;
  }
}

}  // namespace

void write_prefix(char* to, uint32_t length) {
  to[0] = 0;
  for (int i = 0; i < 4; ++i) to[1 + i] = static_cast<char>(length >> (24 - 8 * i));
}

std::optional<std::chrono::nanoseconds> parse_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > kMostDigits + 1) return std::nullopt;
  const auto unit = unit_of(text.back());
  text.remove_suffix(1);
  const bool is_number = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!unit || !is_number) return std::nullopt;
  const int64_t number = parse_int(text).value_or(0);
  // 99999999 hours are more nanoseconds than there are numbers; nobody waits for a year.
  constexpr std::chrono::nanoseconds kForever = std::chrono::hours(24 * 365);
  return number > kForever / *unit ? kForever : number * *unit;
}

std::string timeout_text(std::chrono::microseconds time) {
  constexpr int64_t kMost = 99'999'999;
  const int64_t micros = std::max<int64_t>(time.count(), 1);
  if (micros <= kMost) return std::to_string(micros) + "u";
  const int64_t millis = (micros + 999) / 1000;
  if (millis <= kMost) return std::to_string(millis) + "m";
  return std::to_string(std::min((millis + 999) / 1000, kMost)) + "S";
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte <= 0x7E && c != '%') {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kDigits[byte >> 4];
      encoded += kDigits[byte & 15];
    }
  }
  return encoded;
}

MessageSplitter::Found MessageSplitter::read_prefix(std::string_view& data) {
  const size_t count = std::min(kPrefixBytes - prefix_bytes_, data.size());
  std::memcpy(prefix_.data() + prefix_bytes_, data.data(), count);
  prefix_bytes_ += count;
  data.remove_prefix(count);
  if (prefix_bytes_ < kPrefixBytes) return Found::nothing;
  length_ = length_in(prefix_);
  if (static_cast<uint8_t>(prefix_[0]) > 1) return Found::broken;
  return length_ > max_bytes_ ? Found::too_large : Found::message;
}

void MessageSplitter::end_message() {
  parts_.reset();
  received_ = 0;
  prefix_bytes_ = 0;
}

MessageSplitter::Found MessageSplitter::next(std::string_view& data, Message& message) {
  // The message before this one has been read.
  if (parts_ != nullptr && received_ == static_cast<size_t>(length_)) end_message();
  if (prefix_bytes_ < kPrefixBytes) {
    const Found found = read_prefix(data);
    if (found != Found::message) return found;
  }
  const auto wanted = static_cast<size_t>(length_);
  message.is_packed = prefix_[0] == 1;
  if (parts_ == nullptr && data.size() >= wanted) {  // needs no copy
    message.bytes = data.substr(0, wanted);
    data.remove_prefix(wanted);
    end_message();
    return Found::message;
  }
  if (parts_ == nullptr) parts_ = std::make_unique_for_overwrite<char[]>(wanted);
  const size_t count = std::min(wanted - received_, data.size());
  std::memcpy(parts_.get() + received_, data.data(), count);
  received_ += count;
  data.remove_prefix(count);
  if (received_ < wanted) return Found::nothing;
  message.bytes = {parts_.get(), wanted};
  return Found::message;
}

}  // namespace pando::grpc
