#include "pando/store/seal.h"

#include "tests/store/store_support.h"

namespace pando::store {
namespace {

std::string sealed(const std::string& content) {
  const Seal seal = seal_of(std::as_bytes(std::span(content)));
  return content + std::string(reinterpret_cast<const char*>(seal.data()), seal.size());
}

TEST(Seal, HoldsForEveryLength) {
  const TempFolder dir;
  // Around the word of 8 bytes and around the block of 1 MiB that is read at once.
  for (const size_t length : {0, 1, 7, 8, 9, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 3}) {
    write_bytes(dir.path("a"), sealed(std::string(length, 'x')));
    EXPECT_TRUE(check_seal(dir.path("a"))) << length;
  }
}

TEST(Seal, FindsEveryChangedByte) {
  const TempFolder dir;
  const std::string good = sealed("some content, 29 bytes long..");
  for (size_t i = 0; i < good.size() - 24; ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    write_bytes(dir.path("a"), bad);
    expect_contains(message_of<IoError>([&] { check_seal(dir.path("a")); }), "checksum differs");
  }
}

TEST(Seal, IsAbsentWithoutItsMarkOrLength) {
  const TempFolder dir;
  const std::string good = sealed("content");
  for (const std::string& bytes :
       {std::string(), std::string("short"), std::string(100, 'x'), good + "more", good.substr(1),
        good.substr(0, good.size() - 1)}) {
    write_bytes(dir.path("a"), bytes);
    EXPECT_FALSE(check_seal(dir.path("a"))) << bytes;
  }
}

TEST(Seal, NamesAFileThatCannotBeRead) {
  const TempFolder dir;
  const std::string message = message_of<IoError>([&] { check_seal(dir.path("none.h5")); });
  expect_contains(message, dir.path("none.h5"));
  expect_contains(message, "No such file or directory");
  expect_contains(message_of<IoError>([&] { check_seal(dir.path()); }), "not a regular file");
}

}  // namespace
}  // namespace pando::store
