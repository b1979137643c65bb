// A client of HTTP/2 that sends any frames and reads those of the server, for tests of it. Headers
// are sent without compression.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "tests/http/raw_client.h"

namespace pando::http {

struct H2Frame {
  enum Type : uint8_t {
    data = 0,
    headers = 1,
    priority = 2,
    reset = 3,
    settings = 4,
    ping = 6,
    goaway = 7,
    window = 8,
    continuation = 9,
    none = 255
  };
  static constexpr uint8_t kEnd = 1;  // of a stream; of settings and pings: an answer
  static constexpr uint8_t kEndOfHead = 4;

  uint8_t type = none;  // none: the server has closed the connection
  uint8_t flags = 0;
  uint32_t stream = 0;
  std::string payload;
};

inline std::string number_bytes(uint32_t number, int bytes = 4) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(number >> (8 * i));
  return text;
}

// A setting of a connection and its value.
inline std::string setting_bytes(uint16_t setting, uint32_t value) {
  return number_bytes(setting, 2) + number_bytes(value);
}
inline constexpr uint16_t kInitialWindow = 4;
inline constexpr uint32_t kLargestWindow = 0x7FFFFFFF;

class H2Client {
 public:
  static constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  explicit H2Client(int port, bool greets = true) : raw_(port) {
    if (!greets) return;
    raw_.send(kPreface);
    send(H2Frame::settings, 0, 0, "");
  }
  // Makes the windows as large as can be: the server never waits for more.
  void open_windows() const {
    send(H2Frame::settings, 0, 0, setting_bytes(kInitialWindow, kLargestWindow));
    send(H2Frame::window, 0, 0, number_bytes(kLargestWindow - 65'535));
  }
  ~H2Client() {
    if (inflater_ != nullptr) nghttp2_hd_inflate_del(inflater_);
  }
  H2Client(const H2Client&) = delete;
  H2Client& operator=(const H2Client&) = delete;

  static std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
    return number_bytes(static_cast<uint32_t>(payload.size()), 3) + static_cast<char>(type) +
           static_cast<char>(flags) + number_bytes(stream) + std::string(payload);
  }
  bool send(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) const {
    return raw_.send(frame(type, flags, stream, payload));
  }
  static std::string head(const std::vector<std::pair<std::string, std::string>>& headers) {
    std::string block;
    for (const auto& [name, value] : headers) block += literal(name) + text(value);
    return block;
  }
  // The frame that begins a call.
  static std::string call_frame(uint32_t stream, const std::string& path, uint8_t flags = 0) {
    return frame(H2Frame::headers, H2Frame::kEndOfHead | flags, stream,
                 head({{":method", "POST"},
                       {":scheme", "http"},
                       {":path", path},
                       {":authority", "a"},
                       {"content-type", "application/grpc"}}));
  }
  bool call(uint32_t stream, const std::string& path, uint8_t flags = 0) const {
    return raw_.send(call_frame(stream, path, flags));
  }
  // The headers of a frame. Requires: it is called for all frames with headers, in their order.
  std::vector<std::pair<std::string, std::string>> headers_of(const H2Frame& answer) {
    std::vector<std::pair<std::string, std::string>> headers;
    if (inflater_ == nullptr) nghttp2_hd_inflate_new(&inflater_);
    const auto* bytes = reinterpret_cast<const uint8_t*>(answer.payload.data());
    size_t left = answer.payload.size();
    while (true) {
      nghttp2_nv pair = {};
      int flags = 0;
      const ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &pair, &flags, bytes, left, 1);
      if (used < 0) return headers;
      bytes += used;
      left -= static_cast<size_t>(used);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        headers.emplace_back(std::string(reinterpret_cast<char*>(pair.name), pair.namelen),
                             std::string(reinterpret_cast<char*>(pair.value), pair.valuelen));
      } else if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0 || used == 0) {
        nghttp2_hd_inflate_end_headers(inflater_);
        return headers;
      }
    }
  }
  // The next frame that is not about the connection.
  H2Frame receive() {
    while (true) {
      H2Frame frame = receive_any();
      if (frame.type == H2Frame::settings || frame.type == H2Frame::window) continue;
      return frame;
    }
  }
  H2Frame receive_any() {
    const std::string head = raw_.take_bytes(9);
    if (head.size() < 9) return {};
    const auto byte = [&](size_t i) {
      return static_cast<uint32_t>(static_cast<uint8_t>(head[i]));
    };
    H2Frame frame;
    frame.type = static_cast<uint8_t>(head[3]);
    frame.flags = static_cast<uint8_t>(head[4]);
    frame.stream = byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8);
    frame.payload = raw_.take_bytes(byte(0) << 16 | byte(1) << 8 | byte(2));
    return frame;
  }
  RawClient& raw() { return raw_; }

 private:
  // A string in the form of HPACK; texts below 127 bytes need no further bytes for their length.
  static std::string text(const std::string& value) {
    if (value.size() < 127) return static_cast<char>(value.size()) + value;
    std::string length(1, '\x7f');
    size_t rest = value.size() - 127;
    for (; rest >= 128; rest /= 128) length += static_cast<char>(rest % 128 + 128);
    return length + static_cast<char>(rest) + value;
  }
  static std::string literal(const std::string& name) { return std::string(1, '\0') + text(name); }

  RawClient raw_;
  nghttp2_hd_inflater* inflater_ = nullptr;
};

}  // namespace pando::http
