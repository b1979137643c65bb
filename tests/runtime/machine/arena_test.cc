#include "pando/runtime/machine/arena.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "pando/base/error.h"

namespace pando::runtime {
namespace {

TEST(Arena, IsZeroedAndBeginsOnAPage) {
  const Arena arena(10000);
  EXPECT_GE(arena.size(), 10000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % 4096, 0u);
  EXPECT_TRUE(std::all_of(arena.data(), arena.data() + arena.size(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(Arena, PrefaultKeepsWhatIsThere) {
  Arena arena(3 * 4096);
  for (size_t i = 0; i < arena.size(); ++i) arena.data()[i] = static_cast<std::byte>(i % 251);
  arena.prefault(100, 2 * 4096 + 1);
  arena.prefault(0, arena.size() + 4096);  // ends at the end of the arena
  for (size_t i = 0; i < arena.size(); ++i) {
    ASSERT_EQ(arena.data()[i], static_cast<std::byte>(i % 251)) << i;
  }
}

TEST(Arena, NothingIsAlsoASize) { EXPECT_GT(Arena(0).size(), 0u); }

TEST(Arena, TooMuchIsAnErrorThatSaysHowMuch) {
  try {
    const Arena arena(size_t{1} << 60);
    FAIL();
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("no memory for an arena of "), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace pando::runtime
