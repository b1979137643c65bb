// What gRPC adds to HTTP/2: messages with a length before each, times, texts in headers. Pure
// functions of bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pando::grpc {

// Before each message: a byte that says whether it is packed, and its length, most significant byte
// first.
inline constexpr size_t kPrefixBytes = 5;
void write_prefix(char* to, uint32_t length);

// "250m" is 250 milliseconds. None if the text is not a time of gRPC.
std::optional<std::chrono::nanoseconds> parse_timeout(std::string_view text);
// The text of a time, which becomes longer by as much as its digits do not tell.
std::string timeout_text(std::chrono::microseconds time);

// A text as the header grpc-message has it: % and bytes beyond printable ASCII as %41.
std::string percent_encoded(std::string_view text);

// Divides the bytes of a client into messages.
class MessageSplitter {
 public:
  explicit MessageSplitter(int64_t max_bytes) : max_bytes_(max_bytes) {}

  enum class Found {
    nothing,  // `data` is empty: more bytes are needed
    message,
    too_large,  // longer than max_bytes; the stream cannot be read further
    broken,     // no message of gRPC; the stream cannot be read further
  };
  struct Message {
    bool is_packed = false;
    std::string_view bytes;  // of `data` or of the splitter; valid until the next call
  };
  // Removes from `data` what it has read.
  Found next(std::string_view& data, Message& message);

  bool is_between() const { return prefix_bytes_ == 0; }  // after next() has found nothing
  int64_t length() const { return length_; }              // of the last message that has begun
  // Frees what has been read; nothing can be read any more.
  void drop() { parts_.reset(); }
  // Bytes of a message that is not complete.
  int64_t held() const { return static_cast<int64_t>(received_); }

 private:
  Found read_prefix(std::string_view& data);
  void end_message();

  const int64_t max_bytes_;
  std::array<char, kPrefixBytes> prefix_ = {};
  size_t prefix_bytes_ = 0;
  int64_t length_ = 0;
  std::unique_ptr<char[]> parts_;  // of a message that does not arrive at once
  size_t received_ = 0;
};

}  // namespace pando::grpc
