// Reads any bytes as messages of a gRPC client. However the bytes are divided, which the first one
// says, the messages must be those that all bytes at once give.
// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "pando/base/error.h"
#include "pando/grpc/framing_impl.h"
#include "tests/fuzz/targets.h"

namespace pando::fuzz {
namespace {

using grpc::MessageSplitter;
constexpr int64_t kMostFrameBytes = 1 << 10;

struct Split {
  std::vector<std::string> messages;
  bool has_failed = false;
  bool is_between = false;
  bool operator==(const Split&) const = default;
};

Split split(std::string_view bytes, size_t part) {
  Split result;
  MessageSplitter splitter(kMostFrameBytes);
  for (size_t place = 0; place < bytes.size() && !result.has_failed; place += part) {
    std::string_view data = bytes.substr(place, part);
    while (true) {
      MessageSplitter::Message message;
      const MessageSplitter::Found found = splitter.next(data, message);
      if (found == MessageSplitter::Found::message) {
        result.messages.emplace_back(message.bytes);
        result.messages.back() += message.is_packed ? '+' : '-';
        continue;
      }
      result.has_failed = found != MessageSplitter::Found::nothing;
      break;
    }
    PANDO_CHECK(splitter.held() <= kMostFrameBytes, "more than a message is held");
  }
  result.is_between = !result.has_failed && splitter.is_between();
  return result;
}

}  // namespace

void grpc_frames(Input input) {
  if (input.empty()) return;
  const std::string_view bytes(reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1);
  const Split whole = split(bytes, std::max<size_t>(bytes.size(), 1));
  PANDO_CHECK(split(bytes, size_t{1} + input[0]) == whole, "parts give other messages");
  const std::string text(bytes);
  grpc::parse_timeout(text);
  for (const char c : grpc::percent_encoded(text)) {
    PANDO_CHECK(c >= 0x20 && c <= 0x7E, "a byte that no header may have");
  }
}

}  // namespace pando::fuzz
