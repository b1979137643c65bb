#include <gtest/gtest.h>

#include "pando/grpc/framing_impl.h"

namespace pando::grpc {
namespace {

using namespace std::chrono_literals;
using Found = MessageSplitter::Found;

std::string framed(const std::string& message, bool is_packed = false) {
  std::string frame(kPrefixBytes, '\0');
  write_prefix(frame.data(), static_cast<uint32_t>(message.size()));
  frame[0] = is_packed ? 1 : 0;
  return frame + message;
}

// All messages of `bytes`, which arrive in parts of this size, and how reading ended.
std::vector<std::string> split(std::string_view bytes, size_t part, Found& last) {
  MessageSplitter splitter(100);
  std::vector<std::string> messages;
  for (size_t place = 0; place < bytes.size(); place += part) {
    std::string_view data = bytes.substr(place, part);
    MessageSplitter::Message message;
    while ((last = splitter.next(data, message)) == Found::message) {
      messages.push_back((message.is_packed ? "packed " : "") + std::string(message.bytes));
    }
    if (last != Found::nothing) return messages;
    EXPECT_TRUE(data.empty());
  }
  EXPECT_EQ(splitter.is_between(), splitter.held() == 0 && last == Found::nothing);
  return messages;
}

TEST(GrpcFraming, MessagesComeInPartsOfAnySize) {
  const std::string bytes = framed("abc") + framed("") + framed("defg", true) + framed("h");
  for (size_t part = 1; part <= bytes.size(); ++part) {
    Found last = Found::broken;
    EXPECT_EQ(split(bytes, part, last), (std::vector<std::string>{"abc", "", "packed defg", "h"}));
    EXPECT_EQ(last, Found::nothing);
  }
}

TEST(GrpcFraming, WholeMessagesAreNotCopied) {
  const std::string bytes = framed("abc");
  MessageSplitter splitter(100);
  std::string_view data = bytes;
  MessageSplitter::Message message;
  ASSERT_EQ(splitter.next(data, message), Found::message);
  EXPECT_EQ(message.bytes.data(), bytes.data() + kPrefixBytes);
  EXPECT_TRUE(splitter.is_between());
}

TEST(GrpcFraming, MessagesThatAreTooLongOrBrokenEnd) {
  Found last = Found::nothing;
  EXPECT_EQ(split(framed("a") + framed(std::string(101, 'b')), 4, last).size(), 1U);
  EXPECT_EQ(last, Found::too_large);
  split(std::string("\x02\0\0\0\1x", 6), 6, last);
  EXPECT_EQ(last, Found::broken);
  MessageSplitter splitter(100);
  const std::string bytes = framed("abc");
  std::string_view data = std::string_view(bytes).substr(0, 6);
  MessageSplitter::Message message;
  EXPECT_EQ(splitter.next(data, message), Found::nothing);
  EXPECT_FALSE(splitter.is_between());
  EXPECT_EQ(splitter.held(), 1);
}

TEST(GrpcFraming, Times) {
  EXPECT_EQ(parse_timeout("250m"), 250ms);
  EXPECT_EQ(parse_timeout("3H"), 3h);
  EXPECT_EQ(parse_timeout("3M"), 3min);
  EXPECT_EQ(parse_timeout("3S"), 3s);
  EXPECT_EQ(parse_timeout("99999999u"), 99999999us);
  EXPECT_EQ(parse_timeout("0n"), 0ns);
  EXPECT_EQ(parse_timeout("99999999H"), std::chrono::hours(24 * 365));
  for (const char* const text : {"", "5", "m", "-5m", "5x", "123456789m", "5 m"}) {
    EXPECT_EQ(parse_timeout(text), std::nullopt) << text;
  }
}

TEST(GrpcFraming, TimesAsTexts) {
  EXPECT_EQ(timeout_text(-5us), "1u");
  EXPECT_EQ(timeout_text(10s), "10000000u");
  EXPECT_EQ(timeout_text(std::chrono::microseconds(100'000'001)), "100001m");
  EXPECT_EQ(timeout_text(std::chrono::hours(100)), "360000S");
}

TEST(GrpcFraming, TextsOfHeaders) {
  EXPECT_EQ(percent_encoded("plain text: 'x'"), "plain text: 'x'");
  EXPECT_EQ(percent_encoded("100%\n\xC3\xA4"), "100%25%0A%C3%A4");
}

}  // namespace
}  // namespace pando::grpc
